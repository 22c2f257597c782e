/*-------------------------------------------------------------------------
 *
 * value_hash.h
 *	  Hashes the values of columns, so that entries can be summed up.
 *
 * The functions are inline, because some are called for each column of each entry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_VALUE_HASH_H
#define INDEXTABLE_VALUE_HASH_H

#include "access/tupdesc.h"
#include "fmgr.h"

/*
 * mix
 *		Returns a hash of which every bit depends on every bit of x, as the 64-bit
 *		finalizer of MurmurHash3 does.
 */
static inline uint64
mix(uint64 x)
{
	x ^= x >> 33;
	x *= UINT64CONST(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/*
 * add_word
 *		Adds the next 8 bytes to a hash; with others before and after them, different bytes
 *		give different results.
 */
static inline uint64
add_word(uint64 hash, const unsigned char *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	hash = (hash ^ word) * UINT64CONST(0x9fb21c651e98df25);
	return hash ^ hash >> 32;
}

/*
 * hash_value_bytes
 *		Returns a hash of some bytes.
 *
 * The server's hash_bytes_extended() would take most of the time that long values cost.
 * Of long ones the CPU adds four words at the same time here, which do not wait for each
 * other.
 */
static inline uint64
hash_value_bytes(const unsigned char *bytes, Size len, uint64 seed)
{
	uint64		hash = mix(seed ^ len * UINT64CONST(0x9e3779b97f4a7c15));
	uint64		rest = 0;

	if (len < 8)
	{
		for (; len > 0; len--)
			rest = rest << 8 | bytes[len - 1];
		return mix(hash ^ rest);
	}
	if (len >= 64)
	{
		uint64		lanes[4] = {hash, hash + 1, hash + 2, hash + 3};

		for (; len >= 32; bytes += 32, len -= 32)
		{
			lanes[0] = add_word(lanes[0], bytes);
			lanes[1] = add_word(lanes[1], bytes + 8);
			lanes[2] = add_word(lanes[2], bytes + 16);
			lanes[3] = add_word(lanes[3], bytes + 24);
		}
		hash = mix(mix(mix(mix(lanes[0]) + lanes[1]) + lanes[2]) + lanes[3]);
	}
	for (; len > 8; bytes += 8, len -= 8)
		hash = add_word(hash, bytes);
	/* The last word may have bytes of the one before it. */
	return mix(add_word(hash, bytes + len - 8));
}

/*
 * hash_column
 *		Returns the hash of a value's bytes, which is the same whether the value is compressed
 *		or not.
 */
static inline uint64
hash_column(Datum value, bool isnull, Form_pg_attribute att, uint64 seed)
{
	if (isnull)
		return mix(seed + 1);
	if (att->attbyval)
		return mix(seed + value + UINT64CONST(0x9e3779b97f4a7c15)); /* 0 must not give 0 */
	if (att->attlen == -1)
	{
		struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

		return hash_value_bytes((unsigned char *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), seed);
	}
	return hash_value_bytes((unsigned char *) DatumGetPointer(value),
							att->attlen == -2 ? strlen(DatumGetCString(value)) : (Size) att->attlen, seed);
}

/*
 * hash_columns
 *		Returns the hash of n columns, the same of a row's primary key as of the same key in
 *		an entry.
 */
static inline uint64
hash_columns(TupleDesc desc, const AttrNumber *columns, int n, const Datum *values, const bool *isnull)
{
	uint64		hash = 0;

	for (int i = 0; i < n; i++)
		hash = hash_column(values[columns[i] - 1], isnull[columns[i] - 1], TupleDescAttr(desc, columns[i] - 1),
						   hash);
	return hash;
}

#endif							/* INDEXTABLE_VALUE_HASH_H */
