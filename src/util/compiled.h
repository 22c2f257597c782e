/*-------------------------------------------------------------------------
 *
 * compiled.h
 *	  Has functions in PL/pgSQL compiled anew whose types others have chosen.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPILED_H
#define INDEXTABLE_COMPILED_H

extern void compiled_init(void);

#endif							/* INDEXTABLE_COMPILED_H */
