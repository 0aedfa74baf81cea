/*
 * volume_fields.c - where a volume's files come from. All sources of Kubernetes are listed, so that
 * a cluster's manifest is checked and explained here too; which of them a node can mount is the
 * node's to say.
 */
#include "api/field_macros.h"
#include "api/pod_parts.h"

#define READ_ONLY F_BOOL("readOnly", "Whether it may only be read.")
#define FS_TYPE F_STR("fsType", "File system on it, ext4 by default.")
#define SECRET_REF(d)                                                                              \
    F_OBJ("secretRef", local_reference_fields, d, CORE_TYPE("LocalObjectReference"))
#define FILE_MODE(n, d, ...) F_INT32(n, d, BETWEEN(0, 0777), ##__VA_ARGS__)
#define MODE_0644 DEFAULT("420")

static const char *const mediums[] = {"", "Memory", NULL}; /* large pages are not offered here */
static const char *const host_path_types[] = {
    "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
    "File", "FileOrCreate", "Socket",     NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};

/* --- what we mount -------------------------------------------------------------------------- */

static const struct field key_to_path_fields[] = {
    F_STR("key", "Key in the data.", REQUIRED),
    F_STR("path", "File to write it to, relative to the mount.", REQUIRED),
    FILE_MODE("mode", "Permissions of the file."),
    {0}};

#define ITEMS                                                                                      \
    F_OBJS("items", key_to_path_fields, "Keys to write as files; all when not given.",             \
           CORE_TYPE("KeyToPath"))
#define OPTIONAL F_BOOL("optional", "Whether it may be missing.")
#define DEFAULT_MODE                                                                               \
    FILE_MODE("defaultMode", "Permissions of the files, 0644 by default.", MODE_0644)

static const struct field empty_dir_fields[] = {
    F_STR("medium", "Memory for a folder in memory; the machine's disk by default.",
          ONE_OF(mediums)),
    F_QUANTITY("sizeLimit", "The most it may hold."),
    {0}};

static const struct field host_path_fields[] = {
    F_STR("path", "Path on the machine.", REQUIRED),
    F_STR("type", "What must be there: Directory, DirectoryOrCreate, File and others.",
          ONE_OF(host_path_types)),
    {0}};

static const struct field claim_source_fields[] = {
    F_STR("claimName", "A claim of the same namespace.", REQUIRED), READ_ONLY, {0}};

static const struct field config_map_source_fields[] = {
    F_STR("name", "Name of the ConfigMap.", DEFAULT("\"\"")), ITEMS, DEFAULT_MODE, OPTIONAL, {0}};

static const struct field secret_source_fields[] = {
    F_STR("secretName", "Name of the Secret."), ITEMS, DEFAULT_MODE, OPTIONAL, {0}};

static const struct field downward_file_fields[] = {
    F_STR("path", "File to write it to, relative to the mount.", REQUIRED),
    F_OBJ("fieldRef", pod_field_ref_fields, "A field of the pod.",
          CORE_TYPE("ObjectFieldSelector")),
    F_OBJ("resourceFieldRef", pod_resource_ref_fields, "A resource of a container.",
          CORE_TYPE("ResourceFieldSelector")),
    FILE_MODE("mode", "Permissions of the file."),
    {0}};

#define DOWNWARD_ITEMS                                                                             \
    F_OBJS("items", downward_file_fields, "Files and the fields in them.",                         \
           CORE_TYPE("DownwardAPIVolumeFile"))

static const struct field downward_fields[] = {DOWNWARD_ITEMS, DEFAULT_MODE, {0}};

static const struct field claim_template_meta_fields[] = {
    F_STR_MAP("labels", "Labels of the claim."),
    F_STR_MAP("annotations", "Annotations of the claim."),
    F_STR("name", "Not used."),
    {0}};

static const struct field claim_template_fields[] = {
    F_OBJ("metadata", claim_template_meta_fields, "Labels and annotations of the claim."),
    F_PLAIN(FIELD_ANY, "spec", "The claim, as in a PersistentVolumeClaim.", REQUIRED),
    {0}};

static const struct field ephemeral_fields[] = {F_OBJ("volumeClaimTemplate", claim_template_fields,
                                                      "The claim made for the pod.",
                                                      CORE_TYPE("PersistentVolumeClaimTemplate")),
                                                {0}};

/* --- projected ------------------------------------------------------------------------------ */

static const struct field projected_config_map_fields[] = {
    F_STR("name", "Name of the ConfigMap.", DEFAULT("\"\"")), ITEMS, OPTIONAL, {0}};
static const struct field projected_secret_fields[] = {
    F_STR("name", "Name of the Secret.", DEFAULT("\"\"")), ITEMS, OPTIONAL, {0}};
static const struct field projected_downward_fields[] = {DOWNWARD_ITEMS, {0}};
static const struct field projected_token_fields[] = {
    F_STR("path", "File to write the token to.", REQUIRED),
    F_STR("audience", "Whom the token is for.", IGNORED("the token is for this API")),
    F_INT64("expirationSeconds", "How long it is good.", AT_LEAST(600), DEFAULT("3600")),
    {0}};
static const struct field trust_bundle_fields[] = {
    F_STR("path", "File to write the certificates to.", REQUIRED),
    F_STR("name", "Name of the bundle."),
    F_STR("signerName", "Whose bundles are meant."),
    F_OBJ("labelSelector", label_selector_fields, "Labels of the bundles."),
    OPTIONAL,
    {0}};
static const struct field pod_certificate_fields[] = {
    F_STR("signerName", "Who signs.", REQUIRED),
    F_STR("keyType", "Kind of key.", REQUIRED),
    F_STR("certificateChainPath", "File for the certificates."),
    F_STR("credentialBundlePath", "File for key and certificates."),
    F_STR("keyPath", "File for the key."),
    F_INT32("maxExpirationSeconds", "The longest life of the certificate."),
    F_STR_MAP("userAnnotations", "Handed to who signs."),
    {0}};

static const struct field projection_fields[] = {
    F_OBJ("configMap", projected_config_map_fields, "Keys of a ConfigMap.",
          CORE_TYPE("ConfigMapProjection")),
    F_OBJ("secret", projected_secret_fields, "Keys of a Secret.", CORE_TYPE("SecretProjection")),
    F_OBJ("downwardAPI", projected_downward_fields, "Fields of the pod.",
          CORE_TYPE("DownwardAPIProjection")),
    F_OBJ("serviceAccountToken", projected_token_fields, "A token of the pod's account.",
          CORE_TYPE("ServiceAccountTokenProjection")),
    F_OBJ("clusterTrustBundle", trust_bundle_fields, "Certificates that are trusted.",
          IGNORED("a pod that mounts it waits"), CORE_TYPE("ClusterTrustBundleProjection")),
    F_OBJ("podCertificate", pod_certificate_fields, "A certificate made for the pod.",
          IGNORED("a pod that mounts it waits"), CORE_TYPE("PodCertificateProjection")),
    {0}};

static const struct field projected_fields[] = {F_OBJS("sources", projection_fields,
                                                       "What is put into the folder.",
                                                       CORE_TYPE("VolumeProjection")),
                                                DEFAULT_MODE,
                                                {0}};

/* --- storage of clusters -------------------------------------------------------------------- */

static const struct field nfs_fields[] = {F_STR("server", "Machine that serves it.", REQUIRED),
                                          F_STR("path", "Path on that machine.", REQUIRED),
                                          READ_ONLY,
                                          {0}};
static const struct field csi_fields[] = {F_STR("driver", "Name of the driver.", REQUIRED),
                                          FS_TYPE,
                                          READ_ONLY,
                                          F_STR_MAP("volumeAttributes", "Handed to the driver."),
                                          F_OBJ("nodePublishSecretRef", local_reference_fields,
                                                "Secret handed to the driver.",
                                                CORE_TYPE("LocalObjectReference")),
                                          {0}};
static const struct field image_fields[] = {
    F_STR("reference", "Image or artifact."),
    F_STR("pullPolicy", "When it is fetched.", ONE_OF(pull_policies)),
    {0}};
static const struct field git_fields[] = {F_STR("repository", "Address to clone.", REQUIRED),
                                          F_STR("revision", "Commit."),
                                          F_STR("directory", "Folder to clone into."),
                                          {0}};
static const struct field iscsi_fields[] = {
    F_STR("targetPortal", "Address of the target.", REQUIRED),
    F_STR("iqn", "Name of the target.", REQUIRED),
    F_INT32("lun", "Unit number.", REQUIRED),
    F_STR("iscsiInterface", "Interface to use.", DEFAULT("\"default\"")),
    FS_TYPE,
    READ_ONLY,
    F_STRS("portals", "More addresses of the target."),
    F_BOOL("chapAuthDiscovery", "Whether discovery uses CHAP."),
    F_BOOL("chapAuthSession", "Whether sessions use CHAP."),
    SECRET_REF("CHAP secret."),
    F_STR("initiatorName", "Name of this side."),
    {0}};
static const struct field fc_fields[] = {F_STRS("targetWWNs", "Names of the targets."),
                                         F_INT32("lun", "Unit number."),
                                         F_STRS("wwids", "Identifiers instead of targets."),
                                         FS_TYPE,
                                         READ_ONLY,
                                         {0}};
static const struct field gluster_fields[] = {F_STR("endpoints", "Endpoints object.", REQUIRED),
                                              F_STR("path", "Volume.", REQUIRED),
                                              READ_ONLY,
                                              {0}};
static const struct field ceph_fields[] = {F_STRS("monitors", "Monitors.", REQUIRED),
                                           F_STR("path", "Path in the file system."),
                                           F_STR("user", "User."),
                                           F_STR("secretFile", "File with the user's key."),
                                           SECRET_REF("Secret with the user's key."),
                                           READ_ONLY,
                                           {0}};
static const struct field rbd_fields[] = {
    F_STRS("monitors", "Monitors.", REQUIRED),
    F_STR("image", "Image.", REQUIRED),
    F_STR("pool", "Pool.", DEFAULT("\"rbd\"")),
    F_STR("user", "User.", DEFAULT("\"admin\"")),
    F_STR("keyring", "File with the user's key.", DEFAULT("\"/etc/ceph/keyring\"")),
    SECRET_REF("Secret with the user's key."),
    FS_TYPE,
    READ_ONLY,
    {0}};
static const struct field flex_fields[] = {F_STR("driver", "Name of the driver.", REQUIRED),
                                           F_STR_MAP("options", "Handed to the driver."),
                                           SECRET_REF("Secret handed to the driver."),
                                           FS_TYPE,
                                           READ_ONLY,
                                           {0}};
static const struct field flocker_fields[] = {
    F_STR("datasetName", "Name of the dataset."), F_STR("datasetUUID", "ID of the dataset."), {0}};
static const struct field cinder_fields[] = {F_STR("volumeID", "Disk.", REQUIRED),
                                             FS_TYPE,
                                             READ_ONLY,
                                             SECRET_REF("Access to OpenStack."),
                                             {0}};
static const struct field aws_fields[] = {F_STR("volumeID", "Disk.", REQUIRED),
                                          FS_TYPE,
                                          F_INT32("partition", "Partition of the disk."),
                                          READ_ONLY,
                                          {0}};
static const struct field gce_fields[] = {F_STR("pdName", "Disk.", REQUIRED),
                                          FS_TYPE,
                                          F_INT32("partition", "Partition of the disk."),
                                          READ_ONLY,
                                          {0}};
static const struct field azure_disk_fields[] = {
    F_STR("diskName", "Disk.", REQUIRED),
    F_STR("diskURI", "Address of the disk.", REQUIRED),
    F_STR("cachingMode", "None, ReadOnly or ReadWrite.", DEFAULT("\"ReadWrite\"")),
    F_STR("kind", "Shared, Dedicated or Managed.", DEFAULT("\"Shared\"")),
    F_STR("fsType", "File system on it.", DEFAULT("\"ext4\"")),
    F_BOOL("readOnly", "Whether it may only be read.", DEFAULT("false")),
    {0}};
static const struct field azure_file_fields[] = {
    F_STR("secretName", "Secret with the account.", REQUIRED),
    F_STR("shareName", "Share.", REQUIRED),
    READ_ONLY,
    {0}};
static const struct field vsphere_fields[] = {F_STR("volumePath", "Disk.", REQUIRED),
                                              FS_TYPE,
                                              F_STR("storagePolicyName", "Name of the policy."),
                                              F_STR("storagePolicyID", "ID of the policy."),
                                              {0}};
static const struct field photon_fields[] = {F_STR("pdID", "Disk.", REQUIRED), FS_TYPE, {0}};
static const struct field portworx_fields[] = {
    F_STR("volumeID", "Volume.", REQUIRED), FS_TYPE, READ_ONLY, {0}};
static const struct field quobyte_fields[] = {F_STR("registry", "Services.", REQUIRED),
                                              F_STR("volume", "Volume.", REQUIRED),
                                              F_STR("user", "User."),
                                              F_STR("group", "Group."),
                                              F_STR("tenant", "Tenant."),
                                              READ_ONLY,
                                              {0}};
static const struct field scale_io_fields[] = {
    F_STR("gateway", "Address of the gateway.", REQUIRED),
    F_STR("system", "Storage system.", REQUIRED),
    F_OBJ("secretRef", local_reference_fields, "Secret with the account.", REQUIRED,
          CORE_TYPE("LocalObjectReference")),
    F_BOOL("sslEnabled", "Whether the gateway speaks TLS."),
    F_STR("protectionDomain", "Protection domain."),
    F_STR("storagePool", "Pool."),
    F_STR("storageMode", "ThickProvisioned or ThinProvisioned.", DEFAULT("\"ThinProvisioned\"")),
    F_STR("volumeName", "Volume."),
    F_STR("fsType", "File system on it.", DEFAULT("\"xfs\"")),
    READ_ONLY,
    {0}};
static const struct field storage_os_fields[] = {F_STR("volumeName", "Volume."),
                                                 F_STR("volumeNamespace", "Its namespace."),
                                                 FS_TYPE,
                                                 READ_ONLY,
                                                 SECRET_REF("Access to the API."),
                                                 {0}};

/* --- the volume ----------------------------------------------------------------------------- */

#define SOURCE(n, f, type, d) F_OBJ(n, f, d, CORE_TYPE(type))
#define OTHER_SOURCE(n, f, type, d)                                                                \
    F_OBJ(n, f, d,                                                                                 \
          IGNORED("a pod that mounts it waits; use a persistentVolumeClaim or a hostPath"),        \
          CORE_TYPE(type))

const struct field volume_fields[] = {
    F_STR("name", "Name of the volume, unique in the pod.",
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),
    SOURCE("emptyDir", empty_dir_fields, "EmptyDirVolumeSource",
           "A folder that lives as long as the pod."),
    SOURCE("hostPath", host_path_fields, "HostPathVolumeSource", "A path of the machine."),
    SOURCE("persistentVolumeClaim", claim_source_fields, "PersistentVolumeClaimVolumeSource",
           "A claim's storage."),
    SOURCE("configMap", config_map_source_fields, "ConfigMapVolumeSource",
           "A ConfigMap's keys as files."),
    SOURCE("secret", secret_source_fields, "SecretVolumeSource", "A Secret's keys as files."),
    SOURCE("downwardAPI", downward_fields, "DownwardAPIVolumeSource",
           "Fields of the pod as files."),
    SOURCE("projected", projected_fields, "ProjectedVolumeSource",
           "Several sources in one folder."),
    OTHER_SOURCE("ephemeral", ephemeral_fields, "EphemeralVolumeSource",
                 "A claim made for the pod."),
    OTHER_SOURCE("nfs", nfs_fields, "NFSVolumeSource", "An NFS share."),
    OTHER_SOURCE("csi", csi_fields, "CSIVolumeSource", "A volume of a storage driver."),
    OTHER_SOURCE("image", image_fields, "ImageVolumeSource", "The content of an image."),
    OTHER_SOURCE("gitRepo", git_fields, "GitRepoVolumeSource", "A Git repository."),
    OTHER_SOURCE("iscsi", iscsi_fields, "ISCSIVolumeSource", "An iSCSI disk."),
    OTHER_SOURCE("fc", fc_fields, "FCVolumeSource", "A Fibre Channel disk."),
    OTHER_SOURCE("glusterfs", gluster_fields, "GlusterfsVolumeSource", "A Gluster volume."),
    OTHER_SOURCE("cephfs", ceph_fields, "CephFSVolumeSource", "A Ceph file system."),
    OTHER_SOURCE("rbd", rbd_fields, "RBDVolumeSource", "A Ceph block device."),
    OTHER_SOURCE("flexVolume", flex_fields, "FlexVolumeSource", "A volume of a plugin."),
    OTHER_SOURCE("flocker", flocker_fields, "FlockerVolumeSource", "A Flocker volume."),
    OTHER_SOURCE("cinder", cinder_fields, "CinderVolumeSource", "An OpenStack volume."),
    OTHER_SOURCE("awsElasticBlockStore", aws_fields, "AWSElasticBlockStoreVolumeSource",
                 "An AWS disk."),
    OTHER_SOURCE("gcePersistentDisk", gce_fields, "GCEPersistentDiskVolumeSource", "A GCE disk."),
    OTHER_SOURCE("azureDisk", azure_disk_fields, "AzureDiskVolumeSource", "An Azure disk."),
    OTHER_SOURCE("azureFile", azure_file_fields, "AzureFileVolumeSource", "An Azure file share."),
    OTHER_SOURCE("vsphereVolume", vsphere_fields, "VsphereVirtualDiskVolumeSource",
                 "A vSphere disk."),
    OTHER_SOURCE("photonPersistentDisk", photon_fields, "PhotonPersistentDiskVolumeSource",
                 "A Photon disk."),
    OTHER_SOURCE("portworxVolume", portworx_fields, "PortworxVolumeSource", "A Portworx volume."),
    OTHER_SOURCE("quobyte", quobyte_fields, "QuobyteVolumeSource", "A Quobyte volume."),
    OTHER_SOURCE("scaleIO", scale_io_fields, "ScaleIOVolumeSource", "A ScaleIO volume."),
    OTHER_SOURCE("storageos", storage_os_fields, "StorageOSVolumeSource", "A StorageOS volume."),
    {0}};
