/*-------------------------------------------------------------------------
 *
 * compiled.h
 *	  Learns what PL/pgSQL has made of functions, so that others do not get it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPILED_H
#define INDEXTABLE_COMPILED_H

extern void compiled_init(void);
extern void compiled_be_told(void);

#endif							/* INDEXTABLE_COMPILED_H */
