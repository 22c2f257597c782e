/*-------------------------------------------------------------------------
 *
 * fired_triggers.h
 *	  Has the event triggers of users that our commands fire run as those of the caller.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIRED_TRIGGERS_H
#define INDEXTABLE_FIRED_TRIGGERS_H

#include "while_set.h"

/* For whom a command of ours is run. */
typedef struct Caller
{
	Oid			user;
	int			sec;			/* his security context */
	char	   *path;			/* his search_path */
	int			switches;		/* number of switches of roles when he was noted */
} Caller;

/* A command of ours that is being run. */
typedef struct OwnCommand
{
	Caller		caller;
	Oid			role;			/* who runs it */
	int			sec;			/* in which security context */
	int			switches;		/* number of switches of roles until then */
	int			depth;			/* number of commands around it */
	bool		is_utility;		/* may itself fire event triggers */
	const Caller *commands_for; /* what that was before */
	struct OwnCommand *outer;
} OwnCommand;

extern int	command_depth;
extern const Caller *commands_for;

/* FOR_CALLER: executes statements of a block of AS_OWNER(), before which the caller was noted, whose commands are run for him */
#define FOR_CALLER(caller, ...)	WHILE_SET(commands_for, (caller), __VA_ARGS__)

extern void fired_triggers_init(const char *schema);
extern void note_caller(Caller *caller);
extern bool own_command_runs(void);
extern void own_command_begin(OwnCommand *command, bool is_utility);
extern void own_command_end(OwnCommand *command);

#endif							/* INDEXTABLE_FIRED_TRIGGERS_H */
