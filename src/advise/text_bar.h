/*-------------------------------------------------------------------------
 *
 * text_bar.h
 *	  Shares as pictures.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TEXT_BAR_H
#define INDEXTABLE_TEXT_BAR_H

extern char *draw_bar(double share, int width);
extern bool can_show_utf8(void);

#endif							/* INDEXTABLE_TEXT_BAR_H */
