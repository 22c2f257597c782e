/*-------------------------------------------------------------------------
 *
 * scan_keys.h
 *	  Makes the search keys of a scan of an index table, and sets their values before a search.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_KEYS_H
#define INDEXTABLE_SCAN_KEYS_H

#include "scan_state.h"

extern void make_keys(IndexTableScan *scan);
extern const char *set_keys(IndexTableScan *scan);
extern void search_whole_array(IndexTableScan *scan);

#endif							/* INDEXTABLE_SCAN_KEYS_H */
