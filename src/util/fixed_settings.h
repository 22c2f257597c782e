/*-------------------------------------------------------------------------
 *
 * fixed_settings.h
 *	  Fixes the settings under which expressions are evaluated and values are made, and
 *	  finds out which of them an expression reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIXED_SETTINGS_H
#define INDEXTABLE_FIXED_SETTINGS_H

#include "while_set.h"

struct Node;

/* Sets of settings that making a value may read. */
#define READS_OUTPUT		0x01	/* those of float8, bytea and geometric
									 * types */
#define READS_DATETIME		0x02	/* those of dates, times and XML */
#define READS_ZONES			0x04	/* abbreviations of time zones */
#define READS_NAMES			0x08	/* those of quoted identifiers */
#define READS_ALL			(READS_OUTPUT | READS_DATETIME | READS_ZONES | READS_NAMES)

/* The values that a session has given to these settings. */
typedef struct SessionSettings
{
	int			extra_float_digits;
	int			bytea_output;
	int			interval_style;
	int			date_style;
	int			date_order;
	struct pg_tz *timezone;
	int			xmlbinary;
	bool		quote_all_identifiers;
	void	   *abbreviations;	/* of time zones; NULL: the fixed ones */
} SessionSettings;

extern bool are_settings_fixed(int settings);
extern void fixed_settings_begin(SessionSettings *saved);
extern void fixed_settings_end(const SessionSettings *saved);
extern void fix_gucs(void);
extern void fix_code_gucs(void);
extern int	find_settings_read(struct Node *expr, bool *others);
extern char *value_text(Oid type, Datum value);
extern bool is_datetime(Oid type);

/* WHILE_FIXED: executes statements, which must not return, while these settings are fixed */
#define WHILE_FIXED(...) \
	do { \
		SessionSettings saved_; \
		\
		fixed_settings_begin(&saved_); \
		DO_AND_UNDO(fixed_settings_end(&saved_), __VA_ARGS__); \
	} while (0)

#endif							/* INDEXTABLE_FIXED_SETTINGS_H */
