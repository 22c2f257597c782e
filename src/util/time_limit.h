/*-------------------------------------------------------------------------
 *
 * time_limit.h
 *	  Limits the time of what a background worker does in one transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TIME_LIMIT_H
#define INDEXTABLE_TIME_LIMIT_H

extern void time_limit_begin(int ms);
extern void time_limit_end(void);
extern void time_limit_make_renewable(void);
extern void time_limit_renew(int ms);
extern bool is_time_limited(void);
extern void time_limit_suspend(void);
extern void time_limit_resume(void);
extern bool is_time_over(void);
extern bool is_statement_over(void);
extern bool is_over_time(ErrorData *error);
extern void time_limit_check(void);
extern void time_limit_context(void *unused);

#endif							/* INDEXTABLE_TIME_LIMIT_H */
