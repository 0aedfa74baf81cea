/*
 * group_owner.c - a job's PodGroup belongs to the job: it says in which queue the job is, since
 * when it runs and at which place it waits. So only the job's own may have its name, no client may
 * take it from the job, and it stays until the job has ended.
 */
#include <string.h>

#include "core/batch_job.h"
#include "core/pod_group.h"
#include "core/replica_names.h"
#include "server/internal.h"

struct owner {
    const struct kind *kind; /* NULL: no job has a PodGroup of that name */
    const struct json *job;
};

/* Job NAME's is called NAME-HASH, and the hash depends on the job's uid. */
static struct owner owner_of(struct server_request *r, const char *group)
{
    size_t len = strlen(group);
    const char *name = len > HASH5_SIZE
                           ? arena_printf(r->arena, "%.*s", (int)(len - HASH5_SIZE), group)
                           : NULL;
    struct owner o = {0};

    for (size_t i = 0; name && (o.kind = group_owner_kind(i)); i++) {
        const char *key = object_key(r->arena, o.kind, r->route.ns, name);
        const struct store_item *item = key ? store_head(server_collection(r->server, o.kind), key)
                                            : NULL;

        o.job = item ? blob_parse(r->arena, item->value, NULL) : NULL;
        if (o.job && !object_is_deleting(o.job) &&
            strcmp(job_child_name(r->arena, o.job), group) == 0)
            return o;
    }
    return (struct owner){0};
}

static int refuse(struct server_request *r, const char *name, const char *why, struct err *err)
{
    r->route.name = name;
    return err_set(err, ERR_FORBIDDEN, "%s \"%s\" is forbidden: %s",
                   resource_name(r->arena, r->route.kind), name, why);
}

int group_owner_check(struct server_request *r, const struct json *old, const struct json *next,
                      struct err *err)
{
    const struct json *controller = object_controller(next);
    const char *queue = json_string(json_at(next, "spec", "queue"), DEFAULT_QUEUE);
    struct owner o;

    if (r->route.kind != &kind_pod_group ||
        (old && json_equal(json_get(controller, "uid"), json_get(object_controller(old), "uid"))))
        return 0;
    o = owner_of(r, object_name(next));
    if (!o.job) /* one that pretends to be a job's would be left to that job */
        return group_is_jobs(controller)
                   ? refuse(r, object_name(next),
                            "metadata.ownerReferences: no such job has a PodGroup of this name: "
                            "leave the controller out, jobs make theirs themselves",
                            err)
                   : 0;
    if (!json_string_is(json_get(controller, "uid"), object_uid(o.job)))
        return refuse(r, object_name(next),
                      arena_printf(r->arena,
                                   "metadata.ownerReferences: it is the PodGroup of %s \"%s\", "
                                   "which must be its controller",
                                   o.kind->name, object_name(o.job)),
                      err);
    if (strcmp(queue, group_queue(o.job)) != 0)
        return refuse(r, object_name(next),
                      arena_printf(r->arena, "spec.queue: its job, %s \"%s\", is in queue \"%s\"",
                                   o.kind->name, object_name(o.job), group_queue(o.job)),
                      err);
    return 0;
}

int group_owner_check_delete(struct server_request *r, const struct json *group, struct err *err)
{
    struct owner o;

    if (r->route.kind != &kind_pod_group)
        return 0;
    o = owner_of(r, object_name(group));
    if (!o.job || (!job_is_kind(o.kind) && o.kind != &kind_job) || object_has_ended(o.job) ||
        batch_job_is_complete(o.job) || batch_job_has_failed(o.job))
        return 0;
    return refuse(r, object_name(group),
                  arena_printf(r->arena,
                               "it is the PodGroup of %s \"%s\", and is deleted when that has "
                               "ended: delete the job instead",
                               o.kind->name, object_name(o.job)),
                  err);
}
