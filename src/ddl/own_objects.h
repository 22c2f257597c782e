/*-------------------------------------------------------------------------
 *
 * own_objects.h
 *	  Refuses to alter or drop what the extension itself needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_OWN_OBJECTS_H
#define INDEXTABLE_OWN_OBJECTS_H

struct Node;

extern void check_extension_object_change(struct Node *command);
extern void check_extension_object_drop(const char *type, const char *schema, const char *name, const char *subobject);
extern void refuse_drop_of_queue(Oid relid, const char *name);
extern void refuse_drop_of_row_index(Oid schema);
extern void refuse_forged_trigger(const char *name, bool has_arguments);

#endif							/* INDEXTABLE_OWN_OBJECTS_H */
