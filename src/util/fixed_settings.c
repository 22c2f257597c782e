/*-------------------------------------------------------------------------
 *
 * fixed_settings.c
 *	  Fixes the settings under which expressions are evaluated and values are made,
 *	  whichever session does it.
 *
 * An entry must be the same whether a writer, a worker, verify() or a look-up makes
 * it.  The text of a value depends on settings, and not only where the server says
 * so: the output functions of float8, bytea, point, interval and others are marked
 * immutable, but read extra_float_digits, bytea_output and IntervalStyle.
 *
 * There are two ways to fix the settings.  The server's own functions read them in
 * variables of the C code.  These variables are set for one evaluation and restored
 * after it, and only if they differ, so that a session with the usual settings pays
 * only for comparing a few integers, and an expression that reads no settings does not
 * even pay for that.  Functions of users may read and set any setting, and may start
 * parallel workers, which are given the settings that the server knows of.  For these,
 * and where expressions are parsed, planned and deparsed, the settings themselves are
 * set, in a GUC nest level, which an error ends, too.
 *
 * The fixed values are the server's defaults where these are the same everywhere, and
 * for dates and times those that drain() and verify() have always used.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
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

/* What find_settings() has found in an expression. */
typedef struct Findings
{
	int			settings;		/* sets that it may read: READS_... */
	bool		others;			/* it may read settings that only fix_gucs()
								 * fixes */
} Findings;

static pg_tz *utc(void);
static bool find_settings(Node *node, void *context);
static int	read_by_output(Oid type);

/*
 * is_datetime
 *		Returns whether a type is one of the date and time types.
 *
 * The settings that their input functions read are all in the set READS_DATETIME.
 */
bool
is_datetime(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID ||
		type == TIMEOID || type == TIMETZOID || type == INTERVALOID;
}

/* utc: returns the time zone UTC, which is looked up once */
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

/* are_settings_fixed: returns whether the settings in some sets (READS_...) have their fixed values already */
bool
are_settings_fixed(int settings)
{
	/*
	 * Any positive number of extra digits gives the same text, the shortest
	 * exact one.
	 */
	if ((settings & READS_OUTPUT) != 0 &&
		!(extra_float_digits > 0 && bytea_output == BYTEA_OUTPUT_HEX))
		return false;
	if ((settings & READS_DATETIME) != 0 &&
		!(IntervalStyle == INTSTYLE_POSTGRES && DateStyle == USE_ISO_DATES &&
		  DateOrder == DATEORDER_YMD && session_timezone == utc() && xmlbinary == XMLBINARY_BASE64))
		return false;
	return true;
}

/*
 * fixed_settings_begin, fixed_settings_end
 *		Fix all settings for the server's own functions, and restore them.
 *
 * No other functions may be called between the two.  The caller restores the settings
 * after an error, too.
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

/*
 * fix_gucs
 *		Fixes the settings themselves, for functions of users, too.
 *
 * The caller has begun a GUC nest level, whose end restores them.
 */
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

/* value_text: returns a value as its type's output function writes it under fixed settings */
char *
value_text(Oid type, Datum value)
{
	Oid			output;
	bool		varlena;
	char	   *volatile result = NULL;

	getTypeOutputInfo(type, &output, &varlena);
	if (are_settings_fixed(READS_ALL))
		return OidOutputFunctionCall(output, value);
	WHILE_FIXED(result = OidOutputFunctionCall(output, value));
	return result;
}

/*
 * find_settings_read
 *		Returns the sets of settings that an expression may depend on which calls only
 *		immutable functions of the server.
 *
 * Sets *others to whether it may also depend on settings that only fix_gucs() fixes.
 */
int
find_settings_read(Node *expr, bool *others)
{
	Findings	findings = {0};

	(void) find_settings(expr, &findings);
	*others = findings.others;
	return findings.settings;
}

/*
 * find_settings
 *		Adds the settings that a node of an expression, and those below it, may read
 *		to the findings.
 *
 * Functions read no settings if the types of their arguments and results have only one
 * text for each value.  It suffices to look at the types of nodes, as every value in an
 * expression, the result of a function too, is the value of some node.  A node or type
 * that is not known here is assumed to read all settings.
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
			findings->settings |= read_by_output(exprType(node));
			break;
#if PG_VERSION_NUM >= 170000
		case T_JsonExpr:
			{
				/*
				 * The server does not ask whether the input function of the
				 * type that it returns is immutable.
				 */
				Oid			type = exprType(node);
				Oid			input;
				Oid			ioparam;

				getTypeInputInfo(type, &input, &ioparam);
				findings->settings = READS_ALL;
				findings->others |= !is_datetime(type) && func_volatile(input) != PROVOLATILE_IMMUTABLE;
				break;
			}
#endif
		default:
			findings->settings = READS_ALL;
			break;
	}
	return expression_tree_walker(node, find_settings, context);
}

/* read_by_output: returns the sets of settings that the output of a type, or of an array's elements, reads */
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
			return 0;			/* those of their functions that read settings
								 * are marked as stable */
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
