/*-------------------------------------------------------------------------
 *
 * nearest.c
 *	  Finds the name that a user means who has written another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/formatting.h"
#include "utils/varlena.h"

#include "nearest.h"

/* Longer names are not compared: that takes the product of their lengths. */
#define MAX_COMPARED_BYTES	200

/* name_distance: returns how many characters differ between two names, apart from the case of ASCII letters */
int
name_distance(const char *a, const char *b)
{
	int			alen = strlen(a);
	int			blen = strlen(b);
	char	   *x;
	char	   *y;

	if (pg_strcasecmp(a, b) == 0)
		return 0;
	if (alen > MAX_COMPARED_BYTES || blen > MAX_COMPARED_BYTES)
		return Max(alen, blen);
	x = asc_tolower(a, alen);
	y = asc_tolower(b, blen);
	return varstr_levenshtein(x, alen, y, blen, 1, 1, 1, true);
}

/*
 * is_near
 *		Returns whether what was written may be a misspelling of a name at this distance.
 *		Where more than one character differs, the first one is mostly right.
 */
bool
is_near(const char *written, const char *name, int distance)
{
	int			len = strlen(written);

	return distance == 0 ||
		(distance < len && distance <= (len + 2) / 3 &&
		 (distance == 1 || pg_tolower((unsigned char) *written) == pg_tolower((unsigned char) *name)));
}

/* try_name: makes a name the nearest one, if it is near to what was written, and nearer than the others so far */
void
try_name(Nearest *nearest, const char *name)
{
	int			distance = name_distance(nearest->written, name);

	if (is_near(nearest->written, name, distance) && (nearest->name == NULL || distance < nearest->distance))
	{
		nearest->name = name;
		nearest->distance = distance;
	}
}
