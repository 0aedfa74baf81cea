/*
 * patch_json.c - RFC 6902: operations on locations given by JSON pointers (RFC 6901), in sequence.
 * One failure fails the whole patch, so the caller's object is never half changed.
 */
#include <string.h>

#include "api/patch.h"
#include "base/json_finder.h"

#define PATCH_JSON_COPY_LIMIT_BYTES (3u * 1024u * 1024u)
#define SCRATCH_LIMIT_BYTES (64u * 1024u * 1024u)
#define PATCH_JSON_STEPS_LIMIT 50000000u /* through elements of lists, for all operations */
#define POINTER_DEPTH_LIMIT JSON_DEPTH_LIMIT

/* A large object that an operation has touched. */
struct touched {
    struct touched *next;
    struct json_finder members;
};

struct patcher {
    struct arena *arena, *scratch;
    struct json *root;
    struct err *err;
    const char *op, *path; /* of the current operation, for errors */
    size_t index;
    size_t copied_bytes, steps;
    struct touched *touched; /* the last one first */
};

/* A location: the parent and the name or index in it. The root has no parent. */
struct place {
    struct json *parent;
    const char *name;   /* member; NULL in an array */
    size_t index;       /* in an array; its length means after the last */
    struct json *value; /* NULL if it does not exist */
    unsigned depth;
};

static int refuse(const struct patcher *p, enum err_reason reason, const char *text)
{
    return err_set(p->err, reason, "JSON patch operation %zu (%s \"%.200s\"): %s", p->index, p->op,
                   p->path, text);
}

/* Also adds a cause: for an invalid object kubectl prints nothing else. */
static int does_not_fit(const struct patcher *p, const char *text)
{
    int rc = refuse(p, ERR_INVALID, text);
    const char *field = arena_printf(p->arena, "patch[%zu]", p->index);

    if (p->err && field)
        err_cause(p->err, "FieldValueInvalid", field, 0, "%s", p->err->text);
    return rc;
}

static int count_steps(struct patcher *p, size_t steps)
{
    p->steps += steps;
    return p->steps <= PATCH_JSON_STEPS_LIMIT
               ? 0
               : refuse(p, ERR_TOO_LARGE,
                        "the patch takes more than 50000000 steps through long lists: send fewer "
                        "operations, or a merge patch");
}

/* --- members of large objects --------------------------------------------------------------- */

/* NULL: the object is small, or the arena failed. */
static struct json_finder *members_of(struct patcher *p, struct json *object)
{
    struct touched **at = &p->touched, *t;

    if (json_len(object) < JSON_KEYS_FROM)
        return NULL;
    for (; *at && (*at)->members.object != object; at = &(*at)->next)
        p->steps++;
    t = *at ? *at : arena_alloc(p->scratch, sizeof(*t));
    if (!t)
        return NULL;
    if (*at)
        *at = t->next;
    else
        t->members = json_finder_of(p->arena, object);
    t->members.tables = p->scratch;
    t->next = p->touched;
    p->touched = t;
    return &t->members;
}

static struct json *get_member(struct patcher *p, struct json *object, const char *name)
{
    struct json_finder *members = members_of(p, object);

    return members ? json_finder_get(members, name, strlen(name)) : json_get_mut(object, name);
}

/* A value that takes another's place is another object at the same address. */
static void forget(struct patcher *p, const struct json *object)
{
    for (struct touched *t = p->touched; t; t = t->next, p->steps++)
        if (t->members.object == object)
            t->members = (struct json_finder){0};
}

static void set_member(struct patcher *p, struct json *object, const char *name, struct json *value)
{
    struct json_finder *members = members_of(p, object);

    if (members)
        forget(p, json_finder_set(members, name, strlen(name), value));
    else
        json_set(p->arena, object, name, value);
}

static void remove_member(struct patcher *p, struct json *object, struct json *member)
{
    struct json_finder *members = members_of(p, object);

    if (members)
        json_finder_drop(members, member);
    else
        json_remove_item(object, member);
}

/* Unlinks removed members, before a whole value is read. */
static void settle(struct patcher *p)
{
    for (struct touched *t = p->touched; t; t = t->next) {
        p->steps += t->members.dropped ? json_len(t->members.object) : 1;
        json_finder_end(&t->members);
        if (json_len(t->members.object) < JSON_KEYS_FROM)
            t->members = (struct json_finder){0}; /* will be changed without it */
    }
}

/* --- pointers ------------------------------------------------------------------------------- */

/* Decodes ~1 and ~0 in one token. NULL on any other ~ or when out of memory. */
static char *token_decode(struct arena *a, const char *text, size_t len)
{
    char *out = arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < len; i++) {
        char c = text[i];

        if (c == '~') {
            if (++i == len || (text[i] != '0' && text[i] != '1'))
                return NULL;
            c = text[i] == '0' ? '~' : '/';
        }
        out[n++] = c;
    }
    return out;
}

/* 0, 1, 12 but not 01 or +1; otherwise false. */
static bool parse_index(const char *text, size_t *ret)
{
    size_t value = 0;

    if (!*text || (text[0] == '0' && text[1]) || strlen(text) > 9)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (size_t)(*text - '0');
    }
    *ret = value;
    return true;
}

static struct json *item_at(struct json *array, size_t index)
{
    struct json *item = json_first_mut(array);

    while (item && index--)
        item = item->next;
    return item;
}

static int step_down(struct patcher *p, struct json *parent, const char *token, struct place *ret)
{
    *ret = (struct place){.parent = parent};
    if (json_is(parent, JSON_OBJECT)) {
        ret->name = token;
        ret->value = get_member(p, parent, token);
        return count_steps(p, 1);
    }
    if (!json_is(parent, JSON_ARRAY))
        return does_not_fit(p, "the path leads through a value that has no members");
    if (strcmp(token, "-") == 0) {
        ret->index = json_len(parent);
        return 0;
    }
    if (!parse_index(token, &ret->index))
        return does_not_fit(p, "an element of a list is named by its number, or - for a new last");
    if (ret->index > json_len(parent))
        return does_not_fit(p, "the list has fewer elements");
    ret->value = item_at(parent, ret->index);
    return count_steps(p, ret->index);
}

/* The location of a pointer; all but its last step must exist. */
static int find_place(struct patcher *p, const char *pointer, struct place *ret)
{
    *ret = (struct place){.value = p->root};
    if (!*pointer)
        return 0;
    if (*pointer != '/')
        return refuse(p, ERR_BAD_REQUEST, "a path starts with /");
    for (unsigned depth = 0; *pointer; depth++) {
        size_t len = strcspn(pointer + 1, "/");
        char *token = token_decode(p->scratch, pointer + 1, len);
        int rc;

        if (arena_failed(p->arena) || arena_failed(p->scratch))
            return err_set(p->err, ERR_UNAVAILABLE, "out of memory");
        if (!token)
            return refuse(p, ERR_BAD_REQUEST, "in a path, ~ is followed by 0 or 1");
        if (!ret->value)
            return does_not_fit(p, "the path does not exist");
        if (depth == POINTER_DEPTH_LIMIT)
            return refuse(p, ERR_BAD_REQUEST, "the path is too deep");
        rc = step_down(p, ret->value, token, ret);
        if (rc < 0)
            return rc;
        ret->depth = depth + 1;
        pointer += 1 + len;
    }
    return 0;
}

static int find_value(struct patcher *p, const char *pointer, struct place *ret)
{
    int rc = find_place(p, pointer, ret);

    if (rc == 0 && !ret->value)
        rc = does_not_fit(p, "the path does not exist");
    return rc;
}

static int find_whole_value(struct patcher *p, const char *pointer, struct place *ret)
{
    int rc = find_value(p, pointer, ret);

    if (rc == 0 && json_type_of(ret->value) >= JSON_ARRAY)
        settle(p);
    return rc;
}

/* --- operations ----------------------------------------------------------------------------- */

static void insert_at(struct json *array, size_t index, struct json *value)
{
    struct json **at = &array->u.list.first;

    if (index >= json_len(array)) {
        json_append(array, value);
        return;
    }
    while (index--)
        at = &(*at)->next;
    value->next = *at;
    *at = value;
    array->len++;
}

static void take_out(struct patcher *p, const struct place *place)
{
    if (place->name)
        remove_member(p, place->parent, place->value);
    else
        json_remove_item(place->parent, place->value);
}

static unsigned depth_of(struct patcher *p, const struct json *v)
{
    unsigned deepest = 0;

    p->steps++;
    json_each (child, v) {
        unsigned depth = depth_of(p, child);

        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* Copies of copies could nest deeper than any text we parse, leaving recursion unbounded. */
static int put(struct patcher *p, const struct place *place, struct json *value)
{
    if (!value)
        return 0; /* the arena failed: detected at the end */
    if (place->depth + depth_of(p, value) > JSON_DEPTH_LIMIT)
        return does_not_fit(p, "the result would be nested too deeply");
    if (!place->parent)
        p->root = value;
    else if (place->name)
        set_member(p, place->parent, place->name, value);
    else
        insert_at(place->parent, place->index, value);
    return 0;
}

static int run_add(struct patcher *p, const struct json *op)
{
    struct place place;
    int rc = find_place(p, p->path, &place);

    return rc < 0 ? rc : put(p, &place, json_clone(p->arena, json_get(op, "value")));
}

static int run_remove(struct patcher *p, const struct json *op)
{
    struct place place;
    int rc = find_value(p, p->path, &place);

    (void)op;
    if (rc == 0 && !place.parent)
        rc = does_not_fit(p, "the whole object cannot be removed");
    if (rc == 0)
        take_out(p, &place);
    return rc;
}

static int run_replace(struct patcher *p, const struct json *op)
{
    struct place place;
    int rc = find_value(p, p->path, &place);

    if (rc < 0)
        return rc;
    if (place.parent && !place.name)
        take_out(p, &place);
    return put(p, &place, json_clone(p->arena, json_get(op, "value")));
}

static int run_move(struct patcher *p, const struct json *op)
{
    const char *from = json_get_string(op, "from", "");
    size_t len = strlen(from);
    struct place source, target;
    struct json *value;
    int rc = find_whole_value(p, from, &source);

    if (rc == 0 && strncmp(p->path, from, len) == 0 && p->path[len] == '/')
        rc = does_not_fit(p, "a value cannot be moved into itself");
    if (rc < 0 || strcmp(from, p->path) == 0)
        return rc;
    value = arena_alloc(p->arena, sizeof(*value));
    if (!value)
        return 0;           /* detected at the end */
    *value = *source.value; /* its node may stay linked until settle() */
    if (source.parent)
        take_out(p, &source);
    rc = find_place(p, p->path, &target);
    return rc < 0 ? rc : put(p, &target, value);
}

/* Copies of copies grow exponentially: all of them may have as many bytes as a request. */
static int count_copy(struct patcher *p, const struct json *value)
{
    struct buf text = BUF_INIT(PATCH_JSON_COPY_LIMIT_BYTES);
    bool too_large;

    json_write(&text, value);
    p->copied_bytes += text.len;
    too_large = text.failed || p->copied_bytes > PATCH_JSON_COPY_LIMIT_BYTES;
    buf_release(&text);
    return too_large ? refuse(p, ERR_TOO_LARGE, "all copies together are too large") : 0;
}

static int run_copy(struct patcher *p, const struct json *op)
{
    struct place source, target;
    int rc = find_whole_value(p, json_get_string(op, "from", ""), &source);

    if (rc == 0)
        rc = count_copy(p, source.value);
    if (rc < 0)
        return rc;
    rc = find_place(p, p->path, &target);
    return rc < 0 ? rc : put(p, &target, json_clone(p->arena, source.value));
}

static int run_test(struct patcher *p, const struct json *op)
{
    struct place place;
    int rc = find_whole_value(p, p->path, &place);

    if (rc == 0 && !json_equal(place.value, json_get(op, "value")))
        rc = does_not_fit(p, "the test failed: the value differs");
    return rc;
}

static const struct operation {
    const char *name;
    int (*run)(struct patcher *p, const struct json *op);
    bool needs_value, needs_from;
} operations_known[] = {
    {"add", run_add, true, false},         {"remove", run_remove, false, false},
    {"replace", run_replace, true, false}, {"move", run_move, false, true},
    {"copy", run_copy, false, true},       {"test", run_test, true, false},
};

static const struct operation *find_operation(const char *name)
{
    for (size_t i = 0; i < ELEMS(operations_known); i++)
        if (strcmp(operations_known[i].name, name) == 0)
            return &operations_known[i];
    return NULL;
}

/* A string without NUL, usable as a path or name. */
static bool is_plain(const struct json *v)
{
    return json_is(v, JSON_STRING) && strlen(v->u.text) == v->len;
}

static int run_operation(struct patcher *p, const struct json *op)
{
    const struct operation *known = find_operation(json_get_string(op, "op", ""));

    p->op = json_get_string(op, "op", "?");
    p->path = json_get_string(op, "path", "");
    if (!known)
        return refuse(p, ERR_BAD_REQUEST,
                      "op must be one of add, remove, replace, move, copy, test");
    if (!is_plain(json_get(op, "path")))
        return refuse(p, ERR_BAD_REQUEST, "path must be a string");
    if (known->needs_value && !json_get(op, "value"))
        return refuse(p, ERR_BAD_REQUEST, "value is missing");
    if (known->needs_from && !is_plain(json_get(op, "from")))
        return refuse(p, ERR_BAD_REQUEST, "from must be a string");
    return known->run(p, op);
}

static int run_operations(struct patcher *p, const struct json *operations)
{
    int rc = 0;

    json_each (op, operations) {
        rc = run_operation(p, op);
        if (rc < 0 || arena_failed(p->arena) || arena_failed(p->scratch))
            break;
        p->index++;
    }
    settle(p);
    return rc;
}

struct json *patch_json(struct arena *a, const struct json *target, const struct json *operations,
                        struct err *err)
{
    struct arena scratch = ARENA_INIT(SCRATCH_LIMIT_BYTES);
    struct patcher p = {.arena = a, .scratch = &scratch, .err = err};
    bool failed;

    if (!json_is(operations, JSON_ARRAY)) {
        err_set(err, ERR_BAD_REQUEST, "a JSON patch must be a list of operations");
        return NULL;
    }
    if (json_len(operations) > PATCH_JSON_OPERATIONS_LIMIT) {
        err_set(err, ERR_TOO_LARGE, "The allowed maximum operations in a JSON patch is %u, got %zu",
                PATCH_JSON_OPERATIONS_LIMIT, json_len(operations));
        return NULL;
    }
    p.root = json_clone(a, target);
    failed = !p.root || run_operations(&p, operations) < 0 || arena_failed(&scratch);
    arena_release(&scratch);
    return failed || arena_failed(a) ? NULL : p.root;
}
