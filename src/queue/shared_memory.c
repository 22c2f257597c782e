/*-------------------------------------------------------------------------
 *
 * shared_memory.c
 *	  Creates the shared memory of worker_slots.c and activity.c.
 *
 * There is none unless the library is preloaded.  Without it workers are started by hand,
 * and wake up by themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "shared_memory.h"

Shared	   *shared = NULL;
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void request_memory(void);
static void attach_memory(void);

/* shared_init: sets the hooks that create the memory; called once, when the library is preloaded */
void
shared_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = attach_memory;
}

/* request_memory: tells the server how much shared memory is needed */
static void
request_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
	RequestNamedLWLockTranche("indextable", 1);
}

/* attach_memory: finds the shared memory; the first process creates it */
static void
attach_memory(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("indextable", sizeof(Shared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(Shared));
		shared->lock = &GetNamedLWLockTranche("indextable")->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/* shared_exists: returns whether there is shared memory, because the library is preloaded */
bool
shared_exists(void)
{
	return shared != NULL;
}
