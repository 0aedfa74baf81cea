/* app_fields.c - see app_fields.h. */
#include "api/kinds/app_fields.h"

const char *const app_phases[] = {"Initializing", "Running", "Paused", "Failed", NULL};

static const struct field reference_fields[] = {
    F_STR("name", "Pod."), F_STR("uid", "UID of the pod."), {0}};

const struct field app_pod_fields[] = {
    F_OBJ("reference", reference_fields, "Which pod."), F_STR("phase", "Phase of the pod."), {0}};

const struct column app_columns[] = {
    COLUMN_NAME,
    COLUMN("Phase", "string", "Whether it runs.", .path = ".status.phase"),
    COLUMN("Age", "date", "Time since it was created.", .path = ".metadata.creationTimestamp"),
    COLUMN("URL", "string", "Its path on the console's address.", .priority = 1,
           .path = ".status.url"),
    COLUMN("Message", "string", "Why it does not run.", .priority = 1, .path = ".status.message"),
    {0}};
