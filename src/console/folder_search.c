/* folder_search.c - see folder_search.h. One claim after the other: there is one in practice. */
#include "console/folder_search.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/tensorboard_rules.h"
#include "client/client.h"
#include "loop/fs_user.h"

static void next_fileset(struct folder_search *s);

static void fail(struct folder_search *s, const struct err *err)
{
    s->fn(s->arg, NULL, err);
}

static const char *find_volume(const struct folder_search *s, const char *claim)
{
    size_t ns_len = strlen(s->ns), len = strlen(claim);

    for (const char *const *v = s->volumes; *v; v++)
        if (strncmp(*v, s->ns, ns_len) == 0 && (*v)[ns_len] == '/' &&
            strncmp(*v + ns_len + 1, claim, len) == 0 && (*v)[ns_len + 1 + len] == '=')
            return *v + ns_len + len + 2;
    return NULL;
}

static int no_folder(const struct folder_search *s, const char *claim, struct err *err)
{
    (void)err_set(err, ERR_NOT_FOUND,
                  s->volumes ? "the event files are on the persistentvolumeclaim \"%s\", which is "
                               "not mounted where this console runs"
                             : "persistentvolumeclaim \"%s\" has no folder on this machine yet",
                  claim);
    if (s->volumes)
        err_hint(err,
                 "mount it there and give the console --volume %s/%s=FOLDER, or create a "
                 "TensorBoard for it",
                 s->ns, claim);
    else
        err_hint(err, "it gets one when a pod uses it");
    return -1;
}

/* base: the claim's folder. */
static int take_claim(struct folder_search *s, const char *base, struct err *err)
{
    const char *fileset = json_string(json_index(s->filesets, s->at), "");
    const char *name = NULL, *path = NULL;
    int rc = log_fileset_parse(s->arena, fileset, &name, &path, err);

    if (rc < 0)
        return rc;
    if (!base || *base != '/')
        return no_folder(s, name, err);
    s->folder.roots[s->folder.roots_len++] = (struct board_root){
        .base = arena_strdup(s->arena, base),
        .relative = path,
        .fence = {.path = s->outside, .trusted_base = true, .uid = s->uid, .gid = s->gid},
        .name = json_len(s->filesets) > 1 ? arena_printf(s->arena, "%s/%s", name, path) : ""};
    return arena_failed(s->arena) ? err_set(err, ERR_UNAVAILABLE, "out of memory") : 0;
}

static void go_on(struct folder_search *s, const char *base, const struct err *err)
{
    auto_err own = ERR_INIT;

    if (err || take_claim(s, base, &own) < 0) {
        fail(s, err ? err : &own);
        return;
    }
    s->at++;
    next_fileset(s);
}

static void got_claim(void *arg, const struct json *claim, const struct err *err)
{
    go_on(arg, object_annotation(claim, ANNOTATION_CLAIM_PATH), err);
}

static void next_fileset(struct folder_search *s)
{
    const struct json *fileset = json_index(s->filesets, s->at);
    const char *claim, *path;
    auto_err err = ERR_INIT;

    if (!fileset || s->folder.roots_len == BOARD_ROOTS_LIMIT)
        s->fn(s->arg, &s->folder, NULL);
    else if (log_fileset_parse(s->arena, json_string(fileset, ""), &claim, &path, &err) < 0)
        fail(s, &err);
    else if (s->volumes)
        go_on(s, find_volume(s, claim), NULL);
    else
        client_get(s->transport, &kind_persistent_volume_claim, s->ns, claim, got_claim, s);
}

/* logDir is another notation for filesets; unreadable entries stay, to be reported. */
static struct json *filesets_of(struct arena *a, const struct json *job)
{
    const struct json *of_job = json_at(job, "spec", "tensorboardSpec");
    const struct json *spec = of_job ? of_job : json_get(job, "spec"); /* or a TensorBoard's own */
    struct json *all = json_new_array(a);
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    struct json *only_dir = json_new_object(a);
    size_t len;

    json_each (fileset, json_get(spec, "trainingLogFilesets"))
        json_append(all, json_clone(a, fileset));
    json_set(a, only_dir, "logDir", json_clone(a, json_get(spec, "logDir")));
    len = tensorboard_folders(a, only_dir, folders);
    for (size_t i = 0; i < len; i++)
        json_append(all, json_new_stringf(a, "t9k://pvc/%s/%s", folders[i].claim, folders[i].path));
    return all;
}

void folder_search_start(struct folder_search *s, struct transport *t, struct arena *a,
                         const struct json *job, const struct folder_place *place,
                         folder_search_fn *fn, void *arg)
{
    const char *run_as = object_annotation(job, ANNOTATION_RUN_AS);
    struct json *filesets = filesets_of(a, job);
    auto_err err = ERR_INIT;

    *s = (struct folder_search){.transport = t,
                                .arena = a,
                                .outside = place->outside,
                                .volumes = place->volumes,
                                .uid = run_as ? (uid_t)strtoul(run_as, NULL, 10) : 0,
                                .fn = fn,
                                .arg = arg};
    s->gid = s->uid ? fs_user_group(s->uid) : 0;
    if (json_len(filesets) == 0 && s->volumes) {
        (void)err_set(&err, ERR_NOT_FOUND,
                      "the job does not say on which claim its event files are");
        err_hint(&err, "set spec.tensorboardSpec.trainingLogFilesets");
        fail(s, &err);
        return;
    }
    if (json_len(filesets) == 0) {
        if (log_folder_of(a, job, place->machine, &s->folder, &err) < 0) {
            fail(s, &err);
            return;
        }
        for (size_t i = 0; i < s->folder.roots_len; i++)
            s->folder.roots[i].fence = (struct folder_fence){
                .path = s->outside, .uid = s->uid, .gid = s->gid};
        fn(arg, &s->folder, NULL);
        return;
    }
    s->folder.rule.all = true;
    s->ns = arena_strdup(a, object_namespace(job));
    s->filesets = filesets;
    if (s->ns && s->filesets) {
        next_fileset(s);
        return;
    }
    err_set(&err, ERR_UNAVAILABLE, "out of memory");
    fail(s, &err);
}

void folder_search_stop(struct folder_search *s)
{
    client_forget(s);
}
