/*-------------------------------------------------------------------------
 *
 * main.h
 *	  Registers a background worker that drains the queues of one database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MAIN_H
#define INDEXTABLE_MAIN_H

struct BackgroundWorkerHandle;

extern bool worker_register(Oid database, int slot, uint64 use, struct BackgroundWorkerHandle **handle);

#endif							/* INDEXTABLE_MAIN_H */
