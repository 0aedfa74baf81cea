/*
 * volume_fields.c - volume sources. All of Kubernetes' are listed, so that a cluster's manifest can
 * be validated and explained here too; the node decides which of them it can mount.
 */
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"
#include "api/metadata.h"

#define READ_ONLY(n) F_BOOL("readOnly", "Whether it is read-only.", P(n))
#define FS_TYPE(n) F_STR("fsType", "File system on it, ext4 by default.", P(n))
/* A pod's volume refers to a Secret of its own namespace; a PersistentVolume also names the
 * namespace. */
#define LOCAL_SECRET(n, d, ...)                                                                    \
    F_OBJ("secretRef", local_reference_fields, d, P(n), CORE_TYPE("LocalObjectReference"),         \
          ##__VA_ARGS__)
#define CLUSTER_SECRET(n, d, ...)                                                                  \
    F_OBJ("secretRef", secret_reference_fields, d, P(n), ##__VA_ARGS__)
#define FILE_MODE(n, d, ...) F_INT32(n, d, BETWEEN(0, 0777), ##__VA_ARGS__)
#define MODE_0644 DEFAULT("420")

static const char *const mediums[] = {"", "Memory", NULL}; /* huge pages are not supported */
static const char *const host_path_types[] = {
    "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
    "File", "FileOrCreate", "Socket",     NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};

static const struct field secret_reference_fields[] = {
    F_STR("name", "Name of the Secret.", P(1)), F_STR("namespace", "Its namespace.", P(2)), {0}};

/* --- sources we mount ----------------------------------------------------------------------- */

static const struct field key_to_path_fields[] = {
    F_STR("key", "Key in the data.", PZ(1), REQUIRED),
    F_STR("path", "File to write it to, relative to the mount.", PZ(2), REQUIRED),
    FILE_MODE("mode", "Permissions of the file.", PZ(3)),
    {0}};

#define ITEMS                                                                                      \
    F_OBJS("items", key_to_path_fields, "Keys to write as files; all by default.", P(2),           \
           CORE_TYPE("KeyToPath"))
#define OPTIONAL(n) F_BOOL("optional", "Whether it may be missing.", PZ(n))
#define DEFAULT_MODE(n)                                                                            \
    FILE_MODE("defaultMode", "Permissions of the files, 0644 by default.", PZ(n), MODE_0644)

static const struct field empty_dir_fields[] = {
    F_STR("medium", "Memory for a folder in memory; the machine's disk by default.", P(1),
          ONE_OF(mediums)),
    F_QUANTITY("sizeLimit", "Its maximum size.", PZ(2)),
    {0}};

const struct field host_path_fields[] = {
    F_STR("path", "Path on the machine.", PZ(1), REQUIRED),
    F_STR("type", "What must exist: Directory, DirectoryOrCreate, File and others.", PZ(2),
          ONE_OF(host_path_types)),
    {0}};

static const struct field claim_source_fields[] = {
    F_STR("claimName", "A claim of the same namespace.", PZ(1), REQUIRED), READ_ONLY(2), {0}};

static const struct field config_map_source_fields[] = {
    F_STR("name", "Name of the ConfigMap.", P_IN(1, 1), DEFAULT("\"\"")),
    ITEMS,
    DEFAULT_MODE(3),
    OPTIONAL(4),
    {0}};

static const struct field secret_source_fields[] = {
    F_STR("secretName", "Name of the Secret.", P(1)), ITEMS, DEFAULT_MODE(3), OPTIONAL(4), {0}};

static const struct field downward_file_fields[] = {
    F_STR("path", "File to write it to, relative to the mount.", PZ(1), REQUIRED),
    F_OBJ("fieldRef", pod_field_ref_fields, "A field of the pod.", P(2),
          CORE_TYPE("ObjectFieldSelector")),
    F_OBJ("resourceFieldRef", pod_resource_ref_fields, "A resource of a container.", P(3),
          CORE_TYPE("ResourceFieldSelector")),
    FILE_MODE("mode", "Permissions of the file.", PZ(4)),
    {0}};

#define DOWNWARD_ITEMS                                                                             \
    F_OBJS("items", downward_file_fields, "Files and the fields in them.", P(1),                   \
           CORE_TYPE("DownwardAPIVolumeFile"))

static const struct field downward_fields[] = {DOWNWARD_ITEMS, DEFAULT_MODE(2), {0}};

static const struct field claim_template_meta_fields[] = {
    F_STR_MAP("labels", "Labels of the claim.", P(11)),
    F_STR_MAP("annotations", "Annotations of the claim.", P(12)),
    F_STR("name", "Not used.", P(1)),
    {0}};

static const struct field claim_template_fields[] = {
    F_OBJ("metadata", claim_template_meta_fields, "Labels and annotations of the claim.", P(1)),
    F_OBJ("spec", claim_spec_fields, "The claim, as in a PersistentVolumeClaim.", P(2),
          .flags = FIELD_REQUIRED | FIELD_NO_DEFAULTS),
    {0}};

static const struct field ephemeral_fields[] = {
    F_OBJ("volumeClaimTemplate", claim_template_fields, "The claim created for the pod.", P(1),
          CORE_TYPE("PersistentVolumeClaimTemplate"), .flags = FIELD_REQUIRED),
    {0}};

/* --- projected ------------------------------------------------------------------------------ */

static const struct field projected_config_map_fields[] = {
    F_STR("name", "Name of the ConfigMap.", P_IN(1, 1), DEFAULT("\"\"")), ITEMS, OPTIONAL(4), {0}};
static const struct field projected_secret_fields[] = {
    F_STR("name", "Name of the Secret.", P_IN(1, 1), DEFAULT("\"\"")), ITEMS, OPTIONAL(4), {0}};
static const struct field projected_downward_fields[] = {DOWNWARD_ITEMS, {0}};
static const struct field projected_token_fields[] = {
    F_STR("path", "File to write the token to.", PZ(3), REQUIRED),
    F_STR("audience", "Audiences of the token.", P(1), IGNORED("the token is only for this API")),
    F_INT64("expirationSeconds", "How long it is valid.", PZ(2), AT_LEAST(600), DEFAULT("3600")),
    {0}};
static const struct field trust_bundle_fields[] = {
    F_STR("path", "File to write the certificates to.", PZ(4), REQUIRED),
    F_STR("name", "Name of the bundle.", PZ(1)),
    F_STR("signerName", "Signer of the bundles.", PZ(2)),
    F_OBJ("labelSelector", label_selector_fields, "Labels of the bundles.", P(3)),
    OPTIONAL(5),
    {0}};
static const struct field pod_certificate_fields[] = {
    F_STR("signerName", "The signer.", P(1), REQUIRED),
    F_STR("keyType", "Kind of key.", P(2), REQUIRED),
    F_STR("certificateChainPath", "File for the certificates.", P(6)),
    F_STR("credentialBundlePath", "File for key and certificates.", P(4)),
    F_STR("keyPath", "File for the key.", P(5)),
    F_INT32("maxExpirationSeconds", "Maximum lifetime of the certificate.", PZ(3)),
    F_STR_MAP("userAnnotations", "Passed to the signer.", P(7)),
    {0}};

static const struct field projection_fields[] = {
    F_OBJ("configMap", projected_config_map_fields, "Keys of a ConfigMap.", P(3),
          CORE_TYPE("ConfigMapProjection")),
    F_OBJ("secret", projected_secret_fields, "Keys of a Secret.", P(1),
          CORE_TYPE("SecretProjection")),
    F_OBJ("downwardAPI", projected_downward_fields, "Fields of the pod.", P(2),
          CORE_TYPE("DownwardAPIProjection")),
    F_OBJ("serviceAccountToken", projected_token_fields, "A token of the pod's account.", P(4),
          CORE_TYPE("ServiceAccountTokenProjection")),
    F_OBJ("clusterTrustBundle", trust_bundle_fields, "Certificates that are trusted.", P(5),
          IGNORED("a pod that mounts it waits"), CORE_TYPE("ClusterTrustBundleProjection")),
    F_OBJ("podCertificate", pod_certificate_fields, "A certificate issued for the pod.", P(6),
          IGNORED("a pod that mounts it waits"), CORE_TYPE("PodCertificateProjection")),
    {0}};

static const struct field projected_fields[] = {F_OBJS("sources", projection_fields,
                                                       "Sources of the folder.", P(1),
                                                       CORE_TYPE("VolumeProjection")),
                                                DEFAULT_MODE(2),
                                                {0}};

/* --- storage of clusters -------------------------------------------------------------------- */

const struct field nfs_fields[] = {F_STR("server", "Machine that serves it.", PZ(1), REQUIRED),
                                   F_STR("path", "Path on that machine.", PZ(2), REQUIRED),
                                   READ_ONLY(3),
                                   {0}};
static const struct field csi_fields[] = {
    F_STR("driver", "Name of the driver.", PZ(1), REQUIRED),
    F_BOOL("readOnly", "Whether it is read-only.", PZ(2)),
    F_STR("fsType", "File system on it.", PZ(3)),
    F_STR_MAP("volumeAttributes", "Passed to the driver.", P(4)),
    F_OBJ("nodePublishSecretRef", local_reference_fields, "Secret passed to the driver.", P(5),
          CORE_TYPE("LocalObjectReference")),
    {0}};
const struct field cluster_csi_fields[] = {
    F_STR("driver", "Name of the driver.", PZ(1), REQUIRED),
    F_STR("volumeHandle", "The driver's name for it.", PZ(2), REQUIRED),
    READ_ONLY(3),
    F_STR("fsType", "File system on it.", P(4)),
    F_STR_MAP("volumeAttributes", "Passed to the driver.", P(5)),
    F_OBJ("controllerPublishSecretRef", secret_reference_fields, "Secret to publish it with.",
          P(6)),
    F_OBJ("nodeStageSecretRef", secret_reference_fields, "Secret to stage it with.", P(7)),
    F_OBJ("nodePublishSecretRef", secret_reference_fields, "Secret to mount it with.", P(8)),
    F_OBJ("controllerExpandSecretRef", secret_reference_fields, "Secret to expand it with.", P(9)),
    F_OBJ("nodeExpandSecretRef", secret_reference_fields, "Secret to expand it on a node with.",
          P(10)),
    {0}};
const struct field cluster_local_fields[] = {F_STR("path", "Path on the machine.", PZ(1), REQUIRED),
                                             F_STR("fsType", "File system on it.", PZ(2)),
                                             {0}};
static const struct field image_fields[] = {
    F_STR("reference", "Image or artifact.", P(1)),
    F_STR("pullPolicy", "When it is pulled.", P(2), ONE_OF(pull_policies)),
    {0}};
static const struct field git_fields[] = {F_STR("repository", "Address to clone.", PZ(1), REQUIRED),
                                          F_STR("revision", "Commit.", P(2)),
                                          F_STR("directory", "Folder to clone into.", P(3)),
                                          {0}};

#define ISCSI(secret)                                                                              \
    F_STR("targetPortal", "Address of the target.", PZ(1), REQUIRED),                              \
        F_STR("iqn", "Name of the target.", PZ(2), REQUIRED),                                      \
        F_INT32("lun", "Unit number.", PZ(3), REQUIRED),                                           \
        F_STR("iscsiInterface", "Interface to use.", P(4), DEFAULT("\"default\"")), FS_TYPE(5),    \
        READ_ONLY(6), F_STRS("portals", "More addresses of the target.", P(7)),                    \
        F_BOOL("chapAuthDiscovery", "Whether discovery uses CHAP.", P(8)),                         \
        F_BOOL("chapAuthSession", "Whether sessions use CHAP.", P(11)),                            \
        secret(10, "CHAP secret."), F_STR("initiatorName", "Name of this side.", PZ(12))
static const struct field iscsi_fields[] = {ISCSI(LOCAL_SECRET), {0}};
const struct field cluster_iscsi_fields[] = {ISCSI(CLUSTER_SECRET), {0}};

const struct field fc_fields[] = {F_STRS("targetWWNs", "Names of the targets.", P(1)),
                                  F_INT32("lun", "Unit number.", PZ(2)),
                                  F_STRS("wwids", "Identifiers instead of targets.", P(5)),
                                  FS_TYPE(3),
                                  READ_ONLY(4),
                                  {0}};

#define GLUSTER                                                                                    \
    F_STR("endpoints", "Endpoints object.", PZ(1), REQUIRED),                                      \
        F_STR("path", "Volume.", PZ(2), REQUIRED), READ_ONLY(3)
static const struct field gluster_fields[] = {GLUSTER, {0}};
const struct field cluster_gluster_fields[] = {
    GLUSTER, F_STR("endpointsNamespace", "Namespace of the Endpoints.", PZ(4)), {0}};

#define CEPH(secret)                                                                               \
    F_STRS("monitors", "Monitors.", P(1), REQUIRED),                                               \
        F_STR("path", "Path in the file system.", P(2)), F_STR("user", "User.", P(3)),             \
        F_STR("secretFile", "File with the user's key.", P(4)),                                    \
        secret(5, "Secret with the user's key."), READ_ONLY(6)
static const struct field ceph_fields[] = {CEPH(LOCAL_SECRET), {0}};
const struct field cluster_ceph_fields[] = {CEPH(CLUSTER_SECRET), {0}};

#define RBD(secret)                                                                                \
    F_STRS("monitors", "Monitors.", P(1), REQUIRED), F_STR("image", "Image.", PZ(2), REQUIRED),    \
        F_STR("pool", "Pool.", P(4), DEFAULT("\"rbd\"")),                                          \
        F_STR("user", "User.", P(5), DEFAULT("\"admin\"")),                                        \
        F_STR("keyring", "File with the user's key.", P(6), DEFAULT("\"/etc/ceph/keyring\"")),     \
        secret(7, "Secret with the user's key."), FS_TYPE(3), READ_ONLY(8)
static const struct field rbd_fields[] = {RBD(LOCAL_SECRET), {0}};
const struct field cluster_rbd_fields[] = {RBD(CLUSTER_SECRET), {0}};

#define FLEX(secret)                                                                               \
    F_STR("driver", "Name of the driver.", PZ(1), REQUIRED),                                       \
        F_STR_MAP("options", "Passed to the driver.", P(5)),                                       \
        secret(3, "Secret passed to the driver."), FS_TYPE(2), READ_ONLY(4)
static const struct field flex_fields[] = {FLEX(LOCAL_SECRET), {0}};
const struct field cluster_flex_fields[] = {FLEX(CLUSTER_SECRET), {0}};

const struct field flocker_fields[] = {F_STR("datasetName", "Name of the dataset.", P(1)),
                                       F_STR("datasetUUID", "ID of the dataset.", P(2)),
                                       {0}};

#define CINDER(secret)                                                                             \
    F_STR("volumeID", "Disk.", PZ(1), REQUIRED), FS_TYPE(2), READ_ONLY(3),                         \
        secret(4, "Access to OpenStack.")
static const struct field cinder_fields[] = {CINDER(LOCAL_SECRET), {0}};
const struct field cluster_cinder_fields[] = {CINDER(CLUSTER_SECRET), {0}};

const struct field aws_fields[] = {F_STR("volumeID", "Disk.", PZ(1), REQUIRED),
                                   FS_TYPE(2),
                                   F_INT32("partition", "Partition of the disk.", P(3)),
                                   READ_ONLY(4),
                                   {0}};
const struct field gce_fields[] = {F_STR("pdName", "Disk.", PZ(1), REQUIRED),
                                   FS_TYPE(2),
                                   F_INT32("partition", "Partition of the disk.", P(3)),
                                   READ_ONLY(4),
                                   {0}};
const struct field azure_disk_fields[] = {
    F_STR("diskName", "Disk.", PZ(1), REQUIRED),
    F_STR("diskURI", "Address of the disk.", PZ(2), REQUIRED),
    F_STR("cachingMode", "None, ReadOnly or ReadWrite.", PZ(3), DEFAULT("\"ReadWrite\"")),
    F_STR("kind", "Shared, Dedicated or Managed.", PZ(6), DEFAULT("\"Shared\"")),
    F_STR("fsType", "File system on it.", PZ(4), DEFAULT("\"ext4\"")),
    F_BOOL("readOnly", "Whether it is read-only.", PZ(5), DEFAULT("false")),
    {0}};

#define AZURE_FILE                                                                                 \
    F_STR("secretName", "Secret with the account.", PZ(1), REQUIRED),                              \
        F_STR("shareName", "Share.", PZ(2), REQUIRED), READ_ONLY(3)
static const struct field azure_file_fields[] = {AZURE_FILE, {0}};
const struct field cluster_azure_file_fields[] = {
    AZURE_FILE, F_STR("secretNamespace", "Namespace of the Secret.", PZ(4)), {0}};

const struct field vsphere_fields[] = {F_STR("volumePath", "Disk.", PZ(1), REQUIRED),
                                       FS_TYPE(2),
                                       F_STR("storagePolicyName", "Name of the policy.", P(3)),
                                       F_STR("storagePolicyID", "ID of the policy.", P(4)),
                                       {0}};
const struct field photon_fields[] = {F_STR("pdID", "Disk.", PZ(1), REQUIRED), FS_TYPE(2), {0}};
const struct field portworx_fields[] = {
    F_STR("volumeID", "Volume.", PZ(1), REQUIRED), FS_TYPE(2), READ_ONLY(3), {0}};
const struct field quobyte_fields[] = {F_STR("registry", "Services.", PZ(1), REQUIRED),
                                       F_STR("volume", "Volume.", PZ(2), REQUIRED),
                                       F_STR("user", "User.", P(4)),
                                       F_STR("group", "Group.", P(5)),
                                       F_STR("tenant", "Tenant.", P(6)),
                                       READ_ONLY(3),
                                       {0}};

#define SCALE_IO(secret)                                                                           \
    F_STR("gateway", "Address of the gateway.", PZ(1), REQUIRED),                                  \
        F_STR("system", "Storage system.", PZ(2), REQUIRED),                                       \
        secret(3, "Secret with the account.", REQUIRED),                                           \
        F_BOOL("sslEnabled", "Whether the gateway speaks TLS.", P(4)),                             \
        F_STR("protectionDomain", "Protection domain.", P(5)),                                     \
        F_STR("storagePool", "Pool.", P(6)),                                                       \
        F_STR("storageMode", "ThickProvisioned or ThinProvisioned.", P(7),                         \
              DEFAULT("\"ThinProvisioned\"")),                                                     \
        F_STR("volumeName", "Volume.", P(8)),                                                      \
        F_STR("fsType", "File system on it.", P(9), DEFAULT("\"xfs\"")), READ_ONLY(10)
static const struct field scale_io_fields[] = {SCALE_IO(LOCAL_SECRET), {0}};
const struct field cluster_scale_io_fields[] = {SCALE_IO(CLUSTER_SECRET), {0}};

#define STORAGE_OS                                                                                 \
    F_STR("volumeName", "Volume.", P(1)), F_STR("volumeNamespace", "Its namespace.", P(2)),        \
        FS_TYPE(3), READ_ONLY(4)
static const struct field storage_os_fields[] = {
    STORAGE_OS, LOCAL_SECRET(5, "Access to the API."), {0}};
const struct field cluster_storage_os_fields[] = {
    STORAGE_OS, F_OBJ("secretRef", object_reference_fields, "Access to the API.", P(5)), {0}};

/* --- the volume ----------------------------------------------------------------------------- */

#define SOURCE(number, n, f, type, d) F_OBJ(n, f, d, P_IN(2, number), CORE_TYPE(type))
#define OTHER_SOURCE(number, n, f, type, d)                                                        \
    F_OBJ(n, f, d, P_IN(2, number),                                                                \
          IGNORED("a pod that mounts it waits; use a persistentVolumeClaim or a hostPath"),        \
          CORE_TYPE(type))

const struct field volume_fields[] = {
    F_STR("name", "Name of the volume, unique in the pod.", PZ(1),
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),
    SOURCE(2, "emptyDir", empty_dir_fields, "EmptyDirVolumeSource",
           "A folder with the pod's lifetime."),
    SOURCE(1, "hostPath", host_path_fields, "HostPathVolumeSource", "A path of the machine."),
    SOURCE(10, "persistentVolumeClaim", claim_source_fields, "PersistentVolumeClaimVolumeSource",
           "A claim's storage."),
    SOURCE(19, "configMap", config_map_source_fields, "ConfigMapVolumeSource",
           "A ConfigMap's keys as files."),
    SOURCE(6, "secret", secret_source_fields, "SecretVolumeSource", "A Secret's keys as files."),
    SOURCE(16, "downwardAPI", downward_fields, "DownwardAPIVolumeSource",
           "Fields of the pod as files."),
    SOURCE(26, "projected", projected_fields, "ProjectedVolumeSource",
           "Several sources in one folder."),
    OTHER_SOURCE(29, "ephemeral", ephemeral_fields, "EphemeralVolumeSource",
                 "A claim created for the pod."),
    OTHER_SOURCE(7, "nfs", nfs_fields, "NFSVolumeSource", "An NFS share."),
    OTHER_SOURCE(28, "csi", csi_fields, "CSIVolumeSource", "A volume of a storage driver."),
    OTHER_SOURCE(30, "image", image_fields, "ImageVolumeSource", "The content of an image."),
    OTHER_SOURCE(5, "gitRepo", git_fields, "GitRepoVolumeSource", "A Git repository."),
    OTHER_SOURCE(8, "iscsi", iscsi_fields, "ISCSIVolumeSource", "An iSCSI disk."),
    OTHER_SOURCE(17, "fc", fc_fields, "FCVolumeSource", "A Fibre Channel disk."),
    OTHER_SOURCE(9, "glusterfs", gluster_fields, "GlusterfsVolumeSource", "A Gluster volume."),
    OTHER_SOURCE(14, "cephfs", ceph_fields, "CephFSVolumeSource", "A Ceph file system."),
    OTHER_SOURCE(11, "rbd", rbd_fields, "RBDVolumeSource", "A Ceph block device."),
    OTHER_SOURCE(12, "flexVolume", flex_fields, "FlexVolumeSource", "A volume of a plugin."),
    OTHER_SOURCE(15, "flocker", flocker_fields, "FlockerVolumeSource", "A Flocker volume."),
    OTHER_SOURCE(13, "cinder", cinder_fields, "CinderVolumeSource", "An OpenStack volume."),
    OTHER_SOURCE(4, "awsElasticBlockStore", aws_fields, "AWSElasticBlockStoreVolumeSource",
                 "An AWS disk."),
    OTHER_SOURCE(3, "gcePersistentDisk", gce_fields, "GCEPersistentDiskVolumeSource",
                 "A GCE disk."),
    OTHER_SOURCE(22, "azureDisk", azure_disk_fields, "AzureDiskVolumeSource", "An Azure disk."),
    OTHER_SOURCE(18, "azureFile", azure_file_fields, "AzureFileVolumeSource",
                 "An Azure file share."),
    OTHER_SOURCE(20, "vsphereVolume", vsphere_fields, "VsphereVirtualDiskVolumeSource",
                 "A vSphere disk."),
    OTHER_SOURCE(23, "photonPersistentDisk", photon_fields, "PhotonPersistentDiskVolumeSource",
                 "A Photon disk."),
    OTHER_SOURCE(24, "portworxVolume", portworx_fields, "PortworxVolumeSource",
                 "A Portworx volume."),
    OTHER_SOURCE(21, "quobyte", quobyte_fields, "QuobyteVolumeSource", "A Quobyte volume."),
    OTHER_SOURCE(25, "scaleIO", scale_io_fields, "ScaleIOVolumeSource", "A ScaleIO volume."),
    OTHER_SOURCE(27, "storageos", storage_os_fields, "StorageOSVolumeSource",
                 "A StorageOS volume."),
    {0}};
