#ifndef INDEXTABLE_IN_STEP_H
#define INDEXTABLE_IN_STEP_H
#include "utils/snapshot.h"
#include "../indextable.h"
#define entries_in_step(def, snapshot, why) ((void) (why), true)
#define written_by_us(fact) false
#endif
