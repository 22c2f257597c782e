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
 * The fixed values are the server's defaults where these are the same everywhere, for
 * dates and times those that drain() and verify() have always used, and else what every
 * process of every database has: what initdb, a role or a connection has chosen is not the
 * same for a writer and a worker.  docs/fields.md has them.  test/sql/fixed_settings.sql
 * goes through pg_settings: a setting that everybody may change is in fix_gucs(), or is
 * named there with the reason why it changes no value.
 *
 * find_settings() knows the immutable functions of the server that read settings all the
 * same: by the types of their arguments and results, by their OIDs, and by jsonpath.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/gin.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_expr.h"
#include "parser/parser.h"
#include "pgtime.h"
#include "tsearch/ts_cache.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/tzparser.h"
#include "utils/xml.h"

#include "compat.h"
#include "fixed_settings.h"

/* Of the server's pg_locale.h, which wants the headers of ICU. */
extern PGDLLIMPORT char *locale_monetary;
extern PGDLLIMPORT char *locale_numeric;
extern PGDLLIMPORT char *locale_time;

/* The abbreviations of time zones that all servers have. */
#define ABBREVIATIONS	"Default"

/*
 * Since 18 the abbreviations of the session's time zone come before those of
 * timezone_abbreviations, and are cached.
 */
#if PG_VERSION_NUM >= 180000
#define ZONES_HAVE_ABBREVIATIONS	true
#define forget_abbreviations()		ClearTimeZoneAbbrevCache()
#else
#define ZONES_HAVE_ABBREVIATIONS	false
#define forget_abbreviations()		((void) 0)
#endif

/* What find_settings() has found in an expression. */
typedef struct SettingsRead
{
	int			settings;		/* sets that it may read: READS_... */
	bool		others;			/* it may read settings that only fix_gucs()
								 * fixes */
} SettingsRead;

static pg_tz *utc(void);
static struct config_generic *abbreviations_option(void);
static bool has_default_abbreviations(void);
static TimeZoneAbbrevTable *default_abbreviations(void);
static bool is_setting(const char *name, const char *value);
static bool find_settings(Node *node, void *context);
static int	read_by_function(FuncExpr *call);
static bool names_configuration(FuncExpr *call);
static bool reads_locale(Node *path);
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

/*
 * abbreviations_option
 *		Returns what the server knows of timezone_abbreviations, which is looked up once.
 */
static struct config_generic *
abbreviations_option(void)
{
	static struct config_generic *option = NULL;

	if (option == NULL)
		option = find_option_compat("timezone_abbreviations");
	return option;
}

static bool
has_default_abbreviations(void)
{
	return strcmp(*variable_of(abbreviations_option()), ABBREVIATIONS) == 0;
}

/*
 * default_abbreviations
 *		Returns the abbreviations of time zones that are fixed, which are read once.
 */
static TimeZoneAbbrevTable *
default_abbreviations(void)
{
	static TimeZoneAbbrevTable *table = NULL;

	if (table == NULL && (table = load_tzoffsets(ABBREVIATIONS)) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("could not load time zone abbreviations \"%s\"", ABBREVIATIONS)));
	return table;
}

/*
 * are_settings_fixed
 *		Returns whether the settings in some sets (READS_...) have their fixed values already.
 */
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
	if ((settings & READS_ZONES) != 0 &&
		!(has_default_abbreviations() && (session_timezone == utc() || !ZONES_HAVE_ABBREVIATIONS)))
		return false;
	if ((settings & READS_NAMES) != 0 && quote_all_identifiers)
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
	saved->quote_all_identifiers = quote_all_identifiers;
	saved->abbreviations = has_default_abbreviations() ? NULL : abbreviations_option()->extra;

	if (saved->abbreviations != NULL)
		InstallTimeZoneAbbrevs(default_abbreviations());
	else if (session_timezone != utc())
		forget_abbreviations();
	session_timezone = utc();
	extra_float_digits = 1;
	bytea_output = BYTEA_OUTPUT_HEX;
	IntervalStyle = INTSTYLE_POSTGRES;
	DateStyle = USE_ISO_DATES;
	DateOrder = DATEORDER_YMD;
	xmlbinary = XMLBINARY_BASE64;
	quote_all_identifiers = false;
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
	quote_all_identifiers = saved->quote_all_identifiers;
	if (saved->abbreviations != NULL)
		InstallTimeZoneAbbrevs(saved->abbreviations);
	else if (session_timezone != utc())
		forget_abbreviations();
}

#define FIX(name, value, is_fixed) \
	if (!(is_fixed)) \
		(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false)

/*
 * fix_code_gucs
 *		Fixes the settings by which functions of users are read, and do something else.
 *
 * The caller has begun a GUC nest level, whose end restores them.
 */
void
fix_code_gucs(void)
{
	FIX("transform_null_equals", "off", !Transform_null_equals);
	FIX("backslash_quote", "safe_encoding", backslash_quote == BACKSLASH_QUOTE_SAFE_ENCODING);
	FIX("standard_conforming_strings", "on", standard_conforming_strings);
	FIX("row_security", "on", row_security);
	FIX("plpgsql.check_asserts", "on", is_setting("plpgsql.check_asserts", "on"));
	FIX("plpgsql.extra_errors", "none", is_setting("plpgsql.extra_errors", "none"));
	FIX("plperl.use_strict", "off", is_setting("plperl.use_strict", "off"));
	FIX("restrict_nonsystem_relation_kind", "", is_setting("restrict_nonsystem_relation_kind", ""));
	FIX("gin_fuzzy_search_limit", "0", GinFuzzySearchLimit == 0);
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
	fix_code_gucs();
	FIX("DateStyle", "ISO, YMD", DateStyle == USE_ISO_DATES && DateOrder == DATEORDER_YMD);
	FIX("IntervalStyle", "postgres", IntervalStyle == INTSTYLE_POSTGRES);
	FIX("TimeZone", "UTC", session_timezone == utc());
	FIX("extra_float_digits", "1", extra_float_digits > 0);
	FIX("bytea_output", "hex", bytea_output == BYTEA_OUTPUT_HEX);
	FIX("xmlbinary", "base64", xmlbinary == XMLBINARY_BASE64);
	FIX("xmloption", "content", xmloption == XMLOPTION_CONTENT);
	FIX("array_nulls", "on", Array_nulls);
	FIX("timezone_abbreviations", ABBREVIATIONS, has_default_abbreviations());
	FIX("default_text_search_config", "pg_catalog.simple", strcmp(TSCurrentConfig, "pg_catalog.simple") == 0);
	FIX("lc_monetary", "C", strcmp(locale_monetary, "C") == 0);
	FIX("lc_numeric", "C", strcmp(locale_numeric, "C") == 0);
	FIX("lc_time", "C", strcmp(locale_time, "C") == 0);
	FIX("quote_all_identifiers", "off", !quote_all_identifiers);
}
#undef FIX

/*
 * is_setting
 *		Returns whether a setting that may not be there, or is of a library, has a value that is
 *		its default.
 */
static bool
is_setting(const char *name, const char *value)
{
	const char *now = GetConfigOption(name, true, false);

	return now == NULL || strcmp(now, value) == 0;
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
	SettingsRead findings = {0};

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
	SettingsRead *findings = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
			break;
		case T_FuncExpr:
			findings->settings |= read_by_function((FuncExpr *) node);
			if (names_configuration((FuncExpr *) node))
				return find_settings(lsecond(((FuncExpr *) node)->args), context);
			pg_fallthrough;
		case T_Var:
		case T_Const:
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
			findings->others |= exprType(node) == JSONPATHOID && reads_locale(node);
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

/*
 * read_by_function
 *		Returns the sets of settings that a function reads beside those of the types of its
 *		arguments and its result.
 *
 * A time zone may be an abbreviation.  What is written in the expression, and has a slash, is not
 * one.
 */
static int
read_by_function(FuncExpr *call)
{
	int			result = call->funcid == F_QUOTE_IDENT ? READS_NAMES : 0;

	if (!is_datetime(call->funcresulttype) || call->funcid == F_DATE_TRUNC_TEXT_TIMESTAMP ||
		call->funcid == F_DATE_TRUNC_TEXT_INTERVAL)
		return result;
	foreach_ptr(Node, arg, call->args)
	{
		if (exprType(arg) == TEXTOID &&
			!(IsA(arg, Const) && !((Const *) arg)->constisnull &&
			  strchr(TextDatumGetCString(((Const *) arg)->constvalue), '/') != NULL))
			result |= READS_ZONES;
	}
	return result;
}

/*
 * names_configuration
 *		Returns whether a function makes words of a text by a text search configuration that is a constant.
 *		It does not read the constant's name, whose schema is shown as search_path has it.
 */
static bool
names_configuration(FuncExpr *call)
{
	return (call->funcid == F_TO_TSVECTOR_REGCONFIG_TEXT || call->funcid == F_TO_TSVECTOR_REGCONFIG_JSONB) &&
		IsA(linitial(call->args), Const);
}

/*
 * reads_locale
 *		Returns whether a value of jsonpath may read the names of months and days in lc_time,
 *		by datetime("TM...").
 */
static bool
reads_locale(Node *path)
{
	char	   *text;

	if (!IsA(path, Const))
		return true;
	if (((Const *) path)->constisnull)
		return false;
	text = OidOutputFunctionCall(F_JSONPATH_OUT, ((Const *) path)->constvalue);

	return strstr(text, ".datetime(") != NULL && (strstr(text, "TM") != NULL || strstr(text, "tm") != NULL);
}

/*
 * read_by_output
 *		Returns the sets of settings that the output of a type, or of an array's elements,
 *		reads.
 */
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
		case INT4RANGEOID:
		case INT8RANGEOID:
		case NUMRANGEOID:
		case DATERANGEOID:
		case TSRANGEOID:
		case TSTZRANGEOID:
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
