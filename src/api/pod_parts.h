/* pod_parts.h - tables a pod spec is put together from; for the files that hold them. */
#ifndef MUSTER_API_POD_PARTS_H
#define MUSTER_API_POD_PARTS_H

#include "api/kind.h"
#include "api/pod_fields.h"

extern const struct field container_fields[], ephemeral_container_fields[]; /* container_fields.c */
extern const struct field pod_field_ref_fields[], pod_resource_ref_fields[];
#define NO_SELINUX "no SELinux context is set"
#define NO_APPARMOR "no AppArmor profile is set"

extern const struct field selinux_fields[], profile_fields[], windows_fields[];
extern const struct field volume_fields[];          /* volume_fields.c */
extern const struct field affinity_fields[];        /* placement_fields.c */
extern const struct field toleration_fields[];      /* placement_fields.c */
extern const struct field spread_fields[];          /* placement_fields.c */
extern const struct field label_selector_fields[];  /* placement_fields.c */
extern const struct field local_reference_fields[]; /* pod_fields.c: {name} */

#endif
