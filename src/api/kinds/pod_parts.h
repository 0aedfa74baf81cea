/* pod_parts.h - the tables a pod spec is assembled from; only for the files that define them. */
#ifndef MUSTER_API_POD_PARTS_H
#define MUSTER_API_POD_PARTS_H

#include "api/kind.h"
#include "api/kinds/pod_fields.h"

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
extern const struct field claim_spec_fields[];      /* kind_persistent_volume_claim.c */
extern const struct field node_selector_fields[];   /* placement_fields.c */
/* volume_fields.c: sources a PersistentVolume shares */
extern const struct field aws_fields[], azure_disk_fields[], fc_fields[], flocker_fields[],
    gce_fields[], host_path_fields[], nfs_fields[], photon_fields[], portworx_fields[],
    quobyte_fields[], vsphere_fields[];
extern const struct field cluster_azure_file_fields[], cluster_ceph_fields[],
    cluster_cinder_fields[], cluster_csi_fields[], cluster_flex_fields[], cluster_gluster_fields[],
    cluster_iscsi_fields[], cluster_local_fields[], cluster_rbd_fields[], cluster_scale_io_fields[],
    cluster_storage_os_fields[];

#endif
