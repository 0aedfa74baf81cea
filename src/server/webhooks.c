/*
 * webhooks.c - which webhooks are asked about a write, in which order, and what follows from their
 * answers. Mutating ones come first, one after the other by the names of their configurations;
 * validating ones see the result, at the same time. Never asked: about policies and webhooks
 * themselves, so that a broken one can be removed.
 */
#include "server/webhooks.h"

#include <errno.h>
#include <string.h>

#include "api/managed.h"
#include "api/patch.h"

#define QUESTION_MEMORY_BYTES (64u * 1024u * 1024u) /* as a request may use */
#define QUESTION_LIMIT_BYTES (8u * OBJECT_LIMIT_BYTES)

/* --- matching -------------------------------------------------------------------------- */

/* Subresources whose writes have another form in Kubernetes, and a certificate, which is signed
 * anew in each run. */
static bool is_asked_about(const struct route *route)
{
    static const struct kind *const exempt[] = {&kind_admission_policy, &kind_admission_binding,
                                                &kind_validating_webhooks, &kind_mutating_webhooks};
    static const char *const parts[] = {"binding", "eviction", APPROVAL};

    for (size_t i = 0; i < ELEMS(exempt); i++)
        if (route->kind == exempt[i])
            return false;
    for (size_t i = 0; i < ELEMS(parts); i++)
        if (strcmp(route->subresource, parts[i]) == 0)
            return false;
    return true;
}

static bool is_ignored(const struct hook *hook)
{
    return json_string_is(json_get(hook->config, "failurePolicy"), "Ignore");
}

/* A false condition decides, even behind one that fails. 1, 0 or negative. */
static int conditions_hold(struct admission *a, const struct hook *hook)
{
    const struct json *list = json_get(hook->config, "matchConditions");
    const struct json *values[ADMISSION_VARIABLES_COUNT] = {[ADMISSION_OBJECT] = a->object,
                                                            [ADMISSION_OLD_OBJECT] = a->old,
                                                            [ADMISSION_REQUEST] = a->described,
                                                            [ADMISSION_NAMESPACE] = a->ns};
    struct admission_scope scope;
    auto_err problem = ERR_INIT;

    if (json_len(list) == 0)
        return 1;
    scope = admission_scope(a->request->arena, NULL, 0);
    json_each (c, list)
        if (admission_test(a, &scope, values, json_get_string(c, "expression", ""), &problem) == 0)
            return 0;
    if (!err_is_set(&problem))
        return 1;
    return is_ignored(hook)
               ? 0
               : err_set(a->err, ERR_FORBIDDEN, "%s \"%s\" is forbidden: webhook \"%s\": %s",
                         resource_name(a->request->arena, a->request->route.kind),
                         object_name(a->object ? a->object : a->old), hook->name, problem.text);
}

/* 1: it is to be asked, in the version of *ret; 0: not; negative: refused. */
static int matches(struct admission *a, const struct hook *hook, const struct kind **ret)
{
    bool exact = json_string_is(json_get(hook->config, "matchPolicy"), "Exact");

    *ret = admission_rules_match(a, json_get(hook->config, "rules"), exact);
    return *ret && admission_selects(a, hook->config) ? conditions_hold(a, hook) : 0;
}

/* --- the question ---------------------------------------------------------------------- */

static void convert(struct arena *a, const struct kind *from, const struct kind *to,
                    struct json *object)
{
    if (from == to)
        return;
    if (from->to_stored)
        from->to_stored(a, from, object);
    if (to->from_stored)
        to->from_stored(a, to, object);
}

/* As webhooks see it: a copy without field managers. */
static struct json *shown(struct arena *arena, const struct admission *a, const struct json *object,
                          const struct kind *as)
{
    struct json *copy = json_clone(arena, object);

    if (!object)
        return json_new_null(arena);
    managed_clear(copy);
    convert(arena, a->request->route.kind, as, copy);
    return copy;
}

static struct json *options_of(struct arena *arena, const struct admission *a)
{
    static const char *const passed[] = {"fieldManager", "fieldValidation"};
    const struct server_request *r = a->request;
    bool patch = strcmp(r->method, "PATCH") == 0;
    const struct json *body = NULL;
    struct json *v;

    if (!a->object && r->body_len)
        body = object_parse(arena, &kind_delete_options, r->content_type, r->body, r->body_len,
                            NULL, NULL, NULL);
    v = body ? json_clone(arena, body) : json_new_object(arena);
    json_set_string(arena, v, "kind",
                    !a->object ? "DeleteOptions"
                    : patch    ? "PatchOptions"
                    : a->old   ? "UpdateOptions"
                               : "CreateOptions");
    json_set_string(arena, v, "apiVersion", "meta.k8s.io/v1");
    for (size_t i = 0; a->object && i < ELEMS(passed); i++)
        if (query_get(r, passed[i]))
            json_set_string(arena, v, passed[i], query_get(r, passed[i]));
    if (a->dry_run)
        json_append_string(arena, json_make_array(arena, v, "dryRun"), "All");
    return v;
}

static void write_question(struct buf *out, const struct admission *a, const struct kind *as)
{
    static const char *const gone_when_empty[] = {"subResource", "requestSubResource", "name",
                                                  "namespace"};
    struct arena own = ARENA_INIT(QUESTION_MEMORY_BYTES), *arena = &own;
    struct json *v = json_clone(arena, a->described);

    for (size_t i = 0; i < ELEMS(gone_when_empty); i++)
        if (!*json_get_string(v, gone_when_empty[i], ""))
            json_remove(v, gone_when_empty[i]);
    admission_set_kind(arena, v, "kind", as, "kind", as->name);
    admission_set_kind(arena, v, "resource", as, "resource", as->plural);
    json_set(arena, v, "object", shown(arena, a, a->object, as));
    json_set(arena, v, "oldObject", shown(arena, a, a->old, as));
    json_set(arena, v, "options", options_of(arena, a));
    json_write(out, v);
    buf_addc(out, '}');
    if (arena_failed(arena))
        out->failed = true;
    arena_release(arena);
}

/* --- one webhook ----------------------------------------------------------------------- */

/* A failure refuses the write, unless the webhook's policy is to ignore it. */
static int not_answered(struct admission *a, const struct hook *hook, const char *why)
{
    return is_ignored(hook) ? 0
                            : err_set(a->err, ERR_INTERNAL,
                                      "Internal error occurred: failed calling webhook \"%s\": %s",
                                      hook->name, why);
}

static int take_answer(struct admission *a, const struct hook *hook,
                       const struct webhook_call *call, const struct json **ret_patch)
{
    struct server_request *r = a->request;
    auto_err problem = ERR_INIT;
    struct webhook_answer answer;

    if (call->error)
        return not_answered(a, hook, call->error);
    if (webhook_answer_read(r->arena, call->answer.data ? call->answer.data : "", call->answer.len,
                            call->uid, &answer, &problem) < 0)
        return not_answered(a, hook, problem.text);
    json_each (text, answer.warnings)
        if (json_is(text, JSON_STRING))
            request_warn(r, text->u.text);
    if (!answer.allowed)
        return webhook_answer_refuse(&answer, hook->name, a->err);
    *ret_patch = answer.patch;
    return 0;
}

/* 1: it was asked and allows the write, with *ret_patch (NULL: none) for the version *ret_as; 0: it
 * was not asked, or failed and is ignored; negative: refused, or -EINPROGRESS without an error. */
static int ask(struct admission *a, struct hook *hook, const struct kind **ret_as,
               const struct json **ret_patch)
{
    struct server_request *r = a->request;
    struct buf question = BUF_INIT(QUESTION_LIMIT_BYTES);
    const struct webhook_call *call;
    int rc = matches(a, hook, ret_as);

    *ret_patch = NULL;
    if (rc <= 0)
        return rc;
    write_question(&question, a, *ret_as);
    if (question.failed)
        rc = out_of_memory(a->err);
    else /* without its first brace: uid comes first */
        rc = webhook_ask(r, hook, question.data + 1, question.len - 1, &call, a->err);
    buf_release(&question);
    if (rc == 0)
        rc = take_answer(a, hook, call, ret_patch);
    return rc < 0 ? rc : 1;
}

/* --- mutating -------------------------------------------------------------------------- */

/* The mutating webhooks of one write. */
struct mutation {
    struct admission a;
    struct json *object;
    size_t version; /* of the object, from 1 */
    size_t *seen;   /* by each webhook; 0: it was not asked */
};

static int patch_failed(struct mutation *m, const struct hook *hook, const char *why)
{
    return err_set(m->a.err, ERR_INTERNAL,
                   "Internal error occurred: admission webhook \"%s\": its patch failed: %s",
                   hook->name, why ? why : "");
}

static int apply_patch_of(struct mutation *m, const struct hook *hook, const struct kind *as,
                          const struct json *patch)
{
    struct server_request *r = m->a.request;
    const struct kind *k = r->route.kind;
    auto_err problem = ERR_INIT;
    struct json *before, *next;

    if (!m->object)
        return patch_failed(m, hook, "a deletion cannot be changed");
    before = shown(r->arena, &m->a, m->object, as);
    next = patch_json(r->arena, before, patch, &problem);
    if (next) {
        convert(r->arena, as, k, next);
        if (!json_is(next, JSON_OBJECT) ||
            object_decode(r->arena, k, next, FIELD_VALIDATION_IGNORE, NULL, NULL, &problem) < 0)
            next = NULL;
    }
    if (arena_failed(r->arena))
        return out_of_memory(m->a.err);
    if (!next)
        return patch_failed(m, hook, problem.text);
    object_set_defaults(r->arena, k, next);
    if (as == k && json_equal(next, before))
        return 0;
    m->version++;
    m->a.object = m->object = next;
    return 0;
}

static int mutate_by(struct mutation *m, struct hook *hook, size_t *seen)
{
    const struct kind *as;
    const struct json *patch;
    int rc = ask(&m->a, hook, &as, &patch);

    if (rc <= 0)
        return rc;
    rc = patch ? apply_patch_of(m, hook, as, patch) : 0;
    *seen = m->version;
    return rc;
}

/* again: those that others have changed the object for, if they want. */
static int mutate_by_all(struct mutation *m, struct hook_set *sets, bool again)
{
    size_t n = 0;

    for (const struct hook_set *set = sets; set; set = set->next)
        for (size_t i = 0; i < set->count; i++, n++) {
            struct hook *hook = &set->hooks[i];
            int rc = 0;

            if (!again ||
                (m->seen[n] && m->seen[n] != m->version &&
                 json_string_is(json_get(hook->config, "reinvocationPolicy"), "IfNeeded")))
                rc = mutate_by(m, hook, &m->seen[n]);
            if (rc < 0)
                return rc;
        }
    return 0;
}

int webhooks_mutate(struct server_request *r, const char *operation, const struct json *old,
                    struct json **object, bool dry_run, struct err *err)
{
    struct json *before = object ? *object : NULL;
    struct mutation m = {
        .a = admission_of(r, operation, old, before, dry_run, err), .object = before, .version = 1};
    struct hook_set *sets;
    size_t count = 0;
    int rc = hook_sets_get(r->server, HOOK_MUTATING, &sets, err);

    if (rc < 0 || !sets || !is_asked_about(&r->route))
        return rc;
    for (const struct hook_set *set = sets; set; set = set->next)
        count += set->count;
    m.seen = arena_alloc(r->arena, (count + 1) * sizeof(*m.seen));
    if (!m.seen || admission_describe(&m.a) < 0)
        return out_of_memory(err);
    rc = mutate_by_all(&m, sets, false);
    if (rc == 0 && m.version > 1)
        rc = mutate_by_all(&m, sets, true);
    if (rc == 0 && object)
        *object = m.object;
    return rc;
}

/* --- validating ------------------------------------------------------------------------ */

int webhooks_validate(struct admission *a)
{
    struct server_request *r = a->request;
    struct hook_set *sets;
    bool waits = false;
    int rc = hook_sets_get(r->server, HOOK_VALIDATING, &sets, a->err);

    if (rc < 0 || !sets || !is_asked_about(&r->route))
        return rc;
    if (admission_describe(a) < 0)
        return out_of_memory(a->err);
    for (const struct hook_set *set = sets; set; set = set->next)
        for (size_t i = 0; i < set->count; i++) {
            const struct kind *as;
            const struct json *patch;

            rc = ask(a, &set->hooks[i], &as, &patch);
            if (rc < 0 && err_is_set(a->err))
                return rc;
            waits = waits || rc < 0;
        }
    return waits ? -EINPROGRESS : 0;
}
