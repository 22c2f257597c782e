/*-------------------------------------------------------------------------
 *
 * nearest.h
 *	  Finds the name that a user means who has written another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NEAREST_H
#define INDEXTABLE_NEAREST_H

/* The nearest of some names to the one that was written. */
typedef struct Nearest
{
	const char *written;
	const char *name;			/* NULL: none is near */
	int			distance;
} Nearest;

extern int	name_distance(const char *a, const char *b);
extern bool is_near(const char *written, const char *name, int distance);
extern void try_name(Nearest *nearest, const char *name);

#endif							/* INDEXTABLE_NEAREST_H */
