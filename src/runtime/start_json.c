/* start_json.c - see start_json.h. The input was written by us, but a folder outlives a binary:
 * counts and ranges are checked. */
#include "runtime/start_json.h"

static int too_many(struct err *err, const char *what)
{
    return err_set(err, ERR_INTERNAL, "run.json: too many %s", what);
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "out of memory");
}

/* --- mounts --- */

static void add_mounts(struct arena *a, struct json *item, const struct container_start *c)
{
    struct json *list = c->mounts_len > 0 ? json_make_array(a, item, "mounts") : NULL;

    json_set_string(a, item, "scratch", c->scratch);
    for (size_t i = 0; i < c->mounts_len; i++) {
        const struct container_mount *m = &c->mounts[i];
        struct json *v = json_append(list, json_new_object(a));

        json_set_string(a, v, "source", m->source);
        json_set_string(a, v, "subPath", m->sub_path);
        json_set_string(a, v, "target", m->target);
        json_set_string(a, v, "volume", m->volume);
        json_set_bool(a, v, "readOnly", m->read_only);
        json_set_bool(a, v, "hostPath", m->host_path);
    }
}

static int read_mounts(struct arena *a, const struct json *item, struct container_start *c,
                       struct err *err)
{
    const struct json *list = json_get(item, "mounts");
    struct container_mount *mounts;
    size_t n = 0;

    if (json_len(list) > POD_MOUNTS_LIMIT)
        return too_many(err, "mounts");
    mounts = arena_alloc(a, max_size(json_len(list), 1) * sizeof(*mounts));
    if (!mounts)
        return no_memory(err);
    json_each (v, list)
        mounts[n++] = (struct container_mount){
            .source = json_get_string(v, "source", ""),
            .sub_path = json_get_string(v, "subPath", NULL),
            .target = json_get_string(v, "target", ""),
            .volume = json_get_string(v, "volume", ""),
            .read_only = json_get_bool(v, "readOnly", false),
            .host_path = json_get_bool(v, "hostPath", false),
        };
    c->scratch = json_get_string(item, "scratch", NULL);
    c->mounts = mounts;
    c->mounts_len = n;
    return 0;
}

/* --- identity --- */

static void add_identity(struct arena *a, struct json *item, const struct container_identity *id)
{
    struct json *v, *groups;

    if (!id->wanted)
        return;
    v = json_make_object(a, item, "identity");
    json_set_int(a, v, "uid", id->uid);
    json_set_int(a, v, "gid", id->gid);
    groups = json_make_array(a, v, "groups");
    for (size_t i = 0; i < id->groups_len; i++)
        (void)json_append(groups, json_new_int(a, id->groups[i]));
}

static int read_identity(struct arena *a, const struct json *item, struct container_identity *id,
                         struct err *err)
{
    const struct json *v = json_get(item, "identity"), *list = json_get(v, "groups");
    uint32_t *groups;
    size_t n = 0;

    *id = (struct container_identity){.wanted = json_is(v, JSON_OBJECT)};
    if (!id->wanted)
        return 0;
    if (json_len(list) > POD_GROUPS_LIMIT)
        return too_many(err, "groups");
    groups = arena_alloc(a, max_size(json_len(list), 1) * sizeof(*groups));
    if (!groups)
        return no_memory(err);
    json_each (g, list)
        groups[n++] = (uint32_t)json_int(g, UINT32_MAX);
    id->uid = (uint32_t)json_get_int(v, "uid", UINT32_MAX);
    id->gid = (uint32_t)json_get_int(v, "gid", UINT32_MAX);
    id->groups = groups;
    id->groups_len = n;
    return 0;
}

/* --- rights --- */

static void add_rights(struct arena *a, struct json *item, const struct container_rights *r)
{
    struct json *v = json_make_object(a, item, "rights");

    json_set_bool(a, v, "privileged", r->privileged);
    json_set_bool(a, v, "readOnlyRoot", r->read_only_root);
    json_set_bool(a, v, "noNewPrivs", r->no_new_privs);
    json_set_bool(a, v, "filtered", r->filtered);
    if (r->bounded)
        json_set_int(a, v, "capabilities", (int64_t)r->capabilities);
}

static struct container_rights read_rights(const struct json *item)
{
    const struct json *v = json_get(item, "rights"), *capabilities = json_get(v, "capabilities");

    return (struct container_rights){.privileged = json_get_bool(v, "privileged", false),
                                     .read_only_root = json_get_bool(v, "readOnlyRoot", false),
                                     .no_new_privs = json_get_bool(v, "noNewPrivs", false),
                                     .filtered = json_get_bool(v, "filtered", false),
                                     .bounded = capabilities != NULL,
                                     .capabilities = (uint64_t)json_int(capabilities, 0)};
}

void start_json_add_container(struct arena *a, struct json *item, const struct container_start *c)
{
    add_mounts(a, item, c);
    add_identity(a, item, &c->identity);
    add_rights(a, item, &c->rights);
    json_set_string(a, item, "hidden", c->hidden);
    json_set_string(a, item, "gpus", c->gpus);
    json_set_string(a, item, "image", c->image);
    json_set_string(a, item, "layer", c->layer);
    json_set_string(a, item, "imageID", c->image_id);
    json_set_int(a, item, "openFiles", c->open_files);
    json_set_bool(a, item, "stdin", c->stdin_open);
    json_set_bool(a, item, "stdinOnce", c->stdin_once);
    json_set_bool(a, item, "tty", c->tty);
    json_set_int(a, item, "joinPid", c->join_pid);
    json_set_int(a, item, "joinTicks", c->join_ticks);
}

int start_json_read_container(struct arena *a, const struct json *item, struct container_start *c,
                              struct err *err)
{
    int rc = read_mounts(a, item, c, err);

    c->rights = read_rights(item);
    c->hidden = json_get_string(item, "hidden", NULL);
    c->gpus = json_get_string(item, "gpus", NULL);
    c->image = json_get_string(item, "image", NULL);
    c->layer = json_get_string(item, "layer", NULL);
    c->image_id = json_get_string(item, "imageID", NULL);
    c->open_files = json_get_int(item, "openFiles", 0);
    c->stdin_open = json_get_bool(item, "stdin", false);
    c->stdin_once = json_get_bool(item, "stdinOnce", false);
    c->tty = json_get_bool(item, "tty", false);
    c->join_pid = json_get_int(item, "joinPid", 0);
    c->join_ticks = json_get_int(item, "joinTicks", 0);
    return rc != 0 ? rc : read_identity(a, item, &c->identity, err);
}

/* --- the pod --- */

void start_json_add_pod(struct arena *a, struct json *v, const struct pod_start *p)
{
    struct json *list = p->memory_len > 0 ? json_make_array(a, v, "memory") : NULL;

    json_set_string(a, v, "hostname", p->hostname);
    for (size_t i = 0; i < p->memory_len; i++) {
        struct json *item = json_append(list, json_new_object(a));

        json_set_string(a, item, "path", p->memory[i].path);
        json_set_int(a, item, "limitBytes", p->memory[i].limit_bytes);
        json_set_int(a, item, "group", p->memory[i].group);
    }
}

int start_json_read_pod(struct arena *a, const struct json *v, struct pod_start *p, struct err *err)
{
    const struct json *list = json_get(v, "memory");
    struct pod_memory *memory;
    size_t n = 0;

    if (json_len(list) > POD_MOUNTS_LIMIT)
        return too_many(err, "memory volumes");
    memory = arena_alloc(a, max_size(json_len(list), 1) * sizeof(*memory));
    if (!memory)
        return no_memory(err);
    json_each (item, list)
        memory[n++] = (struct pod_memory){.path = json_get_string(item, "path", ""),
                                          .limit_bytes = json_get_int(item, "limitBytes", 0),
                                          .group = (uint32_t)json_get_int(item, "group", 0)};
    p->hostname = json_get_string(v, "hostname", NULL);
    p->memory = memory;
    p->memory_len = n;
    return 0;
}
