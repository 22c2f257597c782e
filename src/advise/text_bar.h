/*-------------------------------------------------------------------------
 *
 * text_bar.h
 *	  Draws shares as bars of characters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TEXT_BAR_H
#define INDEXTABLE_TEXT_BAR_H

extern char *draw_bar(double share, int width);
extern bool can_show_utf8(void);

#endif							/* INDEXTABLE_TEXT_BAR_H */
