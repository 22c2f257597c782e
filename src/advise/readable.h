/*-------------------------------------------------------------------------
 *
 * readable.h
 *	  Shows shares and sizes to people, as bars of characters and as rounded numbers, and lines
 *	  of advice.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_READABLE_H
#define INDEXTABLE_READABLE_H

#include "nodes/execnodes.h"

extern void put_line(ReturnSetInfo *rsinfo, const char *topic, const char *fmt,...) pg_attribute_printf(3, 4);
extern void put_documents(ReturnSetInfo *rsinfo, double documents, double bytes, int partitions, bool complete,
						  int64 sampled);
extern const char *in_time(double ms);
extern char *draw_bar(double share, int width);
extern bool can_show_utf8(void);
extern const char *in_percent(double share);
extern const char *in_bytes(double bytes);
extern const char *in_count(double n);

#endif							/* INDEXTABLE_READABLE_H */
