/*-------------------------------------------------------------------------
 *
 * fixed_settings.c
 *	  The settings under which every expression and every value of ours is made,
 *	  whoever makes it.
 *
 * An entry must be the same whether a writer makes it, a worker, verify() or a
 * look-up.  What text looks like depends on settings, and not only where the
 * server says so: the output functions of float8, bytea, point, interval and
 * others are marked immutable, and read extra_float_digits, bytea_output and
 * IntervalStyle all the same.
 *
 * There are two ways to fix them.  What the server's own functions read is in
 * variables of the C code: these are set for one evaluation and restored after
 * it, and only if they differ, so that a session with the usual settings pays for
 * comparing a few integers, and an expression that reads none not even for that.
 * Functions of users may read and set anything, and may start parallel workers,
 * which are given the settings that the server knows of: for these, and where
 * expressions are parsed, planned and written down as text, the settings
 * themselves are set, in a nest level that an error ends, too.
 *
 * The fixed settings are the server's defaults where there is one for all, and
 * those that drain() and verify() have always had for dates and times.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include <ctype.h>
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parser.h"
#include "pgtime.h"
#include "utils/array.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/xml.h"

#include "compat.h"
#include "fixed_settings.h"

typedef struct Findings
{
	int			which;
	bool		others;
} Findings;

static pg_tz *utc(void);
static bool find_settings(Node *node, void *context);
static int	read_by_output(Oid type);

/* is_datetime: whether a type's input reads settings that fixedsettings.c fixes for any function */
bool
is_datetime(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID ||
		type == TIMEOID || type == TIMETZOID || type == INTERVALOID;
}

static pg_tz *
utc(void)
{
	static pg_tz *zone = NULL;

	if (zone == NULL && (zone = pg_tzset("UTC")) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("could not load time zone \"UTC\"")));
	return zone;
}

/* are_settings_fixed: whether those of a set are already as they are to be */
bool
are_settings_fixed(int which)
{
	/*
	 * Any positive number of extra digits gives the same, the shortest exact
	 * text.
	 */
	if ((which & READS_OUTPUT) != 0 &&
		!(extra_float_digits > 0 && bytea_output == BYTEA_OUTPUT_HEX))
		return false;
	if ((which & READS_DATETIME) != 0 &&
		!(IntervalStyle == INTSTYLE_POSTGRES && DateStyle == USE_ISO_DATES &&
		  DateOrder == DATEORDER_YMD && session_timezone == utc() && xmlbinary == XMLBINARY_BASE64))
		return false;
	return true;
}

/*
 * fixed_settings_begin, fixed_settings_end
 *		Between them the server's own functions find all settings fixed.  Nothing but
 *		those may be called; the caller restores the settings after an error, too.
 */
void
fixed_settings_begin(SessionSettings *saved)
{
	saved->extra_float_digits = extra_float_digits;
	saved->bytea_output = bytea_output;
	saved->interval_style = IntervalStyle;
	saved->date_style = DateStyle;
	saved->date_order = DateOrder;
	saved->timezone = session_timezone;
	saved->xmlbinary = xmlbinary;

	session_timezone = utc();
	extra_float_digits = 1;
	bytea_output = BYTEA_OUTPUT_HEX;
	IntervalStyle = INTSTYLE_POSTGRES;
	DateStyle = USE_ISO_DATES;
	DateOrder = DATEORDER_YMD;
	xmlbinary = XMLBINARY_BASE64;
}

void
fixed_settings_end(const SessionSettings *saved)
{
	extra_float_digits = saved->extra_float_digits;
	bytea_output = saved->bytea_output;
	IntervalStyle = saved->interval_style;
	DateStyle = saved->date_style;
	DateOrder = saved->date_order;
	session_timezone = saved->timezone;
	xmlbinary = saved->xmlbinary;
}

/* fix_gucs: for functions of users, too; in a GUC nest level, whose end restores them */
void
fix_gucs(void)
{
#define FIX(name, value, is_fixed) \
	if (!(is_fixed)) \
		(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false)

	FIX("DateStyle", "ISO, YMD", DateStyle == USE_ISO_DATES && DateOrder == DATEORDER_YMD);
	FIX("IntervalStyle", "postgres", IntervalStyle == INTSTYLE_POSTGRES);
	FIX("TimeZone", "UTC", session_timezone == utc());
	FIX("extra_float_digits", "1", extra_float_digits > 0);
	FIX("bytea_output", "hex", bytea_output == BYTEA_OUTPUT_HEX);
	FIX("xmlbinary", "base64", xmlbinary == XMLBINARY_BASE64);
	FIX("xmloption", "content", xmloption == XMLOPTION_CONTENT);
	FIX("array_nulls", "on", Array_nulls);
	FIX("lc_monetary", "C", strcmp(GetConfigOption("lc_monetary", false, false), "C") == 0);
	FIX("standard_conforming_strings", "on", standard_conforming_strings);
	FIX("row_security", "on", row_security);
#undef FIX
}

/* value_text: a value as its type's output function writes it, under fixed settings */
char *
value_text(Oid type, Datum value)
{
	SessionSettings saved;
	Oid			output;
	bool		varlena;
	char	   *volatile result = NULL;

	getTypeOutputInfo(type, &output, &varlena);
	if (are_settings_fixed(READS_ALL))
		return OidOutputFunctionCall(output, value);
	fixed_settings_begin(&saved);
	PG_TRY();
	{
		result = OidOutputFunctionCall(output, value);
	}
	PG_FINALLY();
	{
		fixed_settings_end(&saved);
	}
	PG_END_TRY();
	return result;
}

/*
 * find_settings_read
 *		Which settings an expression may depend on that calls immutable functions of
 *		the server only.  *others: also on such as only fix_gucs() fixes.
 */
int
find_settings_read(Node *expr, bool *others)
{
	Findings	findings = {0};

	(void) find_settings(expr, &findings);
	*others = findings.others;
	return findings.which;
}

/*
 * find_settings
 *		Functions of values whose types have one text only read no settings: every
 *		value of an expression is that of a node, and so is each function's result.
 *		Of any node or type that is not known here, all are assumed to be read.
 */
static bool
find_settings(Node *node, void *context)
{
	Findings   *findings = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
			break;
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_CaseExpr:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_NullTest:
		case T_BooleanTest:
			findings->which |= read_by_output(exprType(node));
			break;
#if PG_VERSION_NUM >= 170000
		case T_JsonExpr:
			{
				/*
				 * The server does not ask whether the input of what it
				 * returns is immutable.
				 */
				Oid			type = exprType(node);
				Oid			input;
				Oid			ioparam;

				getTypeInputInfo(type, &input, &ioparam);
				findings->which = READS_ALL;
				findings->others |= !is_datetime(type) && func_volatile(input) != PROVOLATILE_IMMUTABLE;
				break;
			}
#endif
		default:
			findings->which = READS_ALL;
			break;
	}
	return expression_tree_walker(node, find_settings, context);
}

/* read_by_output: settings that a type's output reads, or that of an array's elements */
static int
read_by_output(Oid type)
{
	Oid			element = get_base_element_type(type);

	switch (OidIsValid(element) ? element : type)
	{
		case BOOLOID:
		case CHAROID:
		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case NUMERICOID:
		case UUIDOID:
		case JSONOID:
		case JSONBOID:
		case JSONPATHOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case BITOID:
		case VARBITOID:
		case TSVECTOROID:
		case TSQUERYOID:
			return 0;
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return 0;			/* functions that read settings are marked as
								 * stable */
		case FLOAT4OID:
		case FLOAT8OID:
		case BYTEAOID:
		case POINTOID:
		case LSEGOID:
		case PATHOID:
		case BOXOID:
		case POLYGONOID:
		case LINEOID:
		case CIRCLEOID:
			return READS_OUTPUT;
		default:
			return READS_ALL;	/* interval among them: age(timestamptz,
								 * timestamptz) reads TimeZone */
	}
}
