/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  Declares the variables of the settings indextable.*, which users make.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SETTINGS_H
#define INDEXTABLE_SETTINGS_H

#define MAX_WORKERS			64
#define MAX_BATCH_SIZE		1000000

/* The values of indextable.backlog_action. */
enum
{
	BACKLOG_NOTHING,
	BACKLOG_WARN,
	BACKLOG_SLOW
};

enum
{
	PLANNER_OFF,
	PLANNER_ON,
	PLANNER_FORCE,				/* whatever it costs; for tests */
	PLANNER_FALLBACK			/* the same, but answers come from fallbacks */
};

extern int	setting_max_workers;
extern int	setting_workers_per_database;
extern int	setting_naptime;	/* ms */
extern int	setting_batch_size;
extern int	setting_batch_timeout;	/* ms; 0: none */
extern int	setting_backlog_limit;	/* changes; 0: none */
extern int	setting_backlog_action;
extern int	setting_check_interval; /* s; 0: no checks */
extern double setting_check_sample; /* percent */
extern bool setting_check_repair;
extern bool setting_advice;
extern bool setting_drop_table;
extern int	setting_planner;
extern bool setting_stale_reads;
extern bool setting_use_hidden;
extern int	setting_late_rows;	/* -1: half of the shards */

extern bool exact_reads_only;

extern void define_gucs(void);
extern bool stale_reads_set_by(Oid user);
extern bool use_hidden_set_by(Oid user);

#endif							/* INDEXTABLE_SETTINGS_H */
