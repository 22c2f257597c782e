/*-------------------------------------------------------------------------
 *
 * readable.h
 *	  Shows shares and sizes to people: as bars of characters and as rounded numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_READABLE_H
#define INDEXTABLE_READABLE_H

extern char *draw_bar(double share, int width);
extern bool can_show_utf8(void);
extern const char *in_percent(double share);
extern const char *in_bytes(double bytes);

#endif							/* INDEXTABLE_READABLE_H */
