/*
 * cel_eval.c - evaluates expressions. An error is a value that propagates until && or || absorbs
 * it. Each step costs one; operations on strings and lists cost by their length.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/cel_node.h"
#include "base/timefmt.h"

#define PROBLEM_LIMIT 512

struct cel_value cel_fail(struct cel_state *s, const char *fmt, ...)
{
    char text[PROBLEM_LIMIT];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    s->problem = arena_strdup(s->arena, text);
    return (struct cel_value){.type = CEL_ERROR};
}

bool cel_pay(struct cel_state *s, size_t cost)
{
    s->cost_left -= (int64_t)min_size(cost, INT32_MAX);
    return s->cost_left >= 0;
}

static struct cel_value too_costly(struct cel_state *s)
{
    return cel_fail(s, "the expression costs too much: cost limit exceeded");
}

const char *cel_type_name(enum cel_type type)
{
    static const char *const names[] = {[CEL_ERROR] = "error",
                                        [CEL_NULL] = "null_type",
                                        [CEL_BOOL] = "bool",
                                        [CEL_INT] = "int",
                                        [CEL_UINT] = "uint",
                                        [CEL_DOUBLE] = "double",
                                        [CEL_STRING] = "string",
                                        [CEL_BYTES] = "bytes",
                                        [CEL_LIST] = "list",
                                        [CEL_MAP] = "map",
                                        [CEL_TIMESTAMP] = "google.protobuf.Timestamp",
                                        [CEL_DURATION] = "google.protobuf.Duration",
                                        [CEL_TYPE] = "type",
                                        [CEL_OPTIONAL] = "optional_type",
                                        [CEL_QUANTITY] = "kubernetes.Quantity",
                                        [CEL_URL] = "kubernetes.URL"};

    return names[type];
}

bool cel_is_type_name(const char *name)
{
    for (int t = CEL_NULL; t <= CEL_MAP; t++)
        if (strcmp(cel_type_name((enum cel_type)t), name) == 0)
            return true;
    return strcmp(name, "type") == 0;
}

/* --- JSON values -------------------------------------------------------------------------- */

/* "__dash__" and similar stand for characters identifiers cannot contain. */
static void unescape(const char *name, char out[256])
{
    static const struct {
        const char *text;
        char c;
    } marks[] = {{"__dot__", '.'}, {"__dash__", '-'}, {"__slash__", '/'}};
    static const char *const words[] = {
        "true",     "false",   "null",      "in",       "as",  "break",  "const",
        "continue", "else",    "for",       "function", "if",  "import", "let",
        "loop",     "package", "namespace", "return",   "var", "void",   "while"};
    size_t n = 0, len = strlen(name);

    for (size_t i = 0; i < ELEMS(words); i++)
        if (len == strlen(words[i]) + 4 && strncmp(name, "__", 2) == 0 &&
            strncmp(name + 2, words[i], strlen(words[i])) == 0 &&
            strcmp(name + len - 2, "__") == 0) {
            (void)snprintf(out, 256, "%s", words[i]);
            return;
        }
    for (size_t i = 0; i < len && n < 253;) {
        bool found = false;

        for (size_t k = 0; k < ELEMS(marks) && !found; k++)
            if (strncmp(name + i, marks[k].text, strlen(marks[k].text)) == 0) {
                out[n++] = marks[k].c;
                i += strlen(marks[k].text);
                found = true;
            }
        if (!found && strncmp(name + i, "__underscores__", 15) == 0) {
            out[n++] = '_';
            out[n++] = '_';
            i += 15;
        } else if (!found) {
            out[n++] = name[i++];
        }
    }
    out[n] = '\0';
}

const struct json *cel_member(const struct json *object, const char *name)
{
    const struct json *found = json_get(object, name);
    char plain[256];

    if (found || !strstr(name, "__"))
        return found;
    unescape(name, plain);
    return json_get(object, plain);
}

static struct cel_value text_value(enum cel_type type, const char *text, size_t len)
{
    return (struct cel_value){.type = type, .text = text, .len = len};
}

static struct cel_value string_from(struct cel_state *s, const struct json *v,
                                    const struct json *schema)
{
    const char *format = json_get_string(schema, "format", "");
    struct cel_value text = text_value(CEL_STRING, v->u.text, v->len);

    if (strcmp(format, "date-time") == 0 || strcmp(format, "date") == 0)
        return cel_call(s, "timestamp", false, &text, 1);
    if (strcmp(format, "duration") == 0)
        return cel_call(s, "duration", false, &text, 1);
    if (strcmp(format, "byte") == 0)
        return cel_call(s, "base64.decode", false, &text, 1);
    return text;
}

struct cel_value cel_from_json(struct cel_state *s, const struct json *v, const struct json *schema)
{
    switch (json_type_of(v)) {
    case JSON_NULL:
        return (struct cel_value){.type = CEL_NULL};
    case JSON_BOOL:
        return cel_bool(v->u.boolean);
    case JSON_INT:
        if (json_string_is(json_get(schema, "type"), "number"))
            return (struct cel_value){.type = CEL_DOUBLE, .d = (double)v->u.integer};
        return cel_int(v->u.integer);
    case JSON_REAL:
        return (struct cel_value){.type = CEL_DOUBLE, .d = strtod(v->u.text, NULL)};
    case JSON_STRING:
        return string_from(s, v, schema);
    case JSON_ARRAY:
        return (struct cel_value){
            .type = CEL_LIST, .json = v, .schema = schema, .len = json_len(v)};
    case JSON_OBJECT:
        return (struct cel_value){.type = CEL_MAP, .json = v, .schema = schema, .len = json_len(v)};
    }
    unreachable();
}

static const struct json *member_schema(const struct json *schema, const char *key)
{
    const struct json *known = json_get(json_get(schema, "properties"), key);
    const struct json *others = json_get(schema, "additionalProperties");

    return known ? known : json_is(others, JSON_OBJECT) ? others : NULL;
}

bool cel_open(struct cel_state *s, struct cel_value *v)
{
    const struct json *from = v->json;
    size_t n = 0;

    if (!from || (v->type != CEL_LIST && v->type != CEL_MAP))
        return true;
    if (!cel_pay(s, v->len))
        return false;
    v->json = NULL;
    if (v->type == CEL_LIST) {
        v->items = arena_alloc(s->arena, (v->len + 1) * sizeof(*v->items));
        json_each (item, from)
            if (v->items)
                v->items[n++] = cel_from_json(s, item, json_get(v->schema, "items"));
        return v->items;
    }
    v->entries = arena_alloc(s->arena, (v->len + 1) * sizeof(*v->entries));
    json_each (m, from)
        if (v->entries)
            v->entries[n++] = (struct cel_entry){
                .key = text_value(CEL_STRING, m->key, m->key_len),
                .value = cel_from_json(s, m, member_schema(v->schema, m->key))};
    return v->entries;
}

/* --- comparing ---------------------------------------------------------------------------- */

static bool is_number(struct cel_value v)
{
    return v.type == CEL_INT || v.type == CEL_UINT || v.type == CEL_DOUBLE;
}

static double as_double(struct cel_value v)
{
    return v.type == CEL_INT ? (double)v.i : v.type == CEL_UINT ? (double)v.u : v.d;
}

static int order(bool less, bool greater)
{
    return less ? -1 : greater;
}

static int compare_numbers(struct cel_value a, struct cel_value b)
{
    if (a.type == CEL_INT && b.type == CEL_INT)
        return order(a.i<b.i, a.i> b.i);
    if (a.type == CEL_UINT && b.type == CEL_UINT)
        return order(a.u<b.u, a.u> b.u);
    if (a.type == CEL_INT && b.type == CEL_UINT)
        return a.i < 0 ? -1 : order((uint64_t)a.i<b.u, (uint64_t)a.i> b.u);
    if (a.type == CEL_UINT && b.type == CEL_INT)
        return b.i < 0 ? 1 : order(a.u<(uint64_t)b.i, a.u>(uint64_t) b.i);
    return order(as_double(a) < as_double(b), as_double(a) > as_double(b));
}

bool cel_compare(struct cel_value a, struct cel_value b, int *ret)
{
    int n;

    if (is_number(a) && is_number(b)) {
        if ((a.type == CEL_DOUBLE && isnan(a.d)) || (b.type == CEL_DOUBLE && isnan(b.d)))
            return false;
        *ret = compare_numbers(a, b);
        return true;
    }
    if (a.type != b.type)
        return false;
    switch ((int)a.type) {
    case CEL_BOOL:
        *ret = (int)a.b - (int)b.b;
        return true;
    case CEL_STRING:
    case CEL_BYTES:
        n = memcmp(a.text, b.text, min_size(a.len, b.len));
        *ret = n ? n : order(a.len<b.len, a.len> b.len);
        return true;
    case CEL_TIMESTAMP:
    case CEL_DURATION:
    case CEL_QUANTITY:
        *ret = order(a.i<b.i, a.i> b.i);
        return true;
    default:
        return false;
    }
}

static const struct cel_value *find_entry(struct cel_state *s, struct cel_value *map,
                                          struct cel_value key)
{
    if (!cel_open(s, map) || !cel_pay(s, map->len))
        return NULL;
    for (size_t i = 0; i < map->len; i++)
        if (cel_equal(s, map->entries[i].key, key))
            return &map->entries[i].value;
    return NULL;
}

bool cel_equal(struct cel_state *s, struct cel_value a, struct cel_value b)
{
    int n;

    if (cel_compare(a, b, &n))
        return cel_pay(s, 1 + a.len / 10) && n == 0;
    if (a.type != b.type || !cel_open(s, &a) || !cel_open(s, &b))
        return false;
    switch ((int)a.type) {
    case CEL_NULL:
        return true;
    case CEL_TYPE:
    case CEL_URL:
        return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
    case CEL_OPTIONAL:
        return !a.items || !b.items ? a.items == b.items : cel_equal(s, *a.items, *b.items);
    case CEL_LIST:
        for (size_t i = 0; a.len == b.len && i < a.len; i++)
            if (!cel_equal(s, a.items[i], b.items[i]))
                return false;
        return a.len == b.len;
    case CEL_MAP:
        for (size_t i = 0; a.len == b.len && i < a.len; i++) {
            const struct cel_value *other = find_entry(s, &b, a.entries[i].key);

            if (!other || !cel_equal(s, a.entries[i].value, *other))
                return false;
        }
        return a.len == b.len;
    default:
        return false;
    }
}

/* --- operators ---------------------------------------------------------------------------- */

static struct cel_value no_overload(struct cel_state *s, const char *op, struct cel_value a,
                                    struct cel_value b)
{
    return cel_fail(s, "no such overload: %s %s %s", cel_type_name(a.type), op,
                    cel_type_name(b.type));
}

static struct cel_value int_arithmetic(struct cel_state *s, char op, struct cel_value a,
                                       struct cel_value b)
{
    int64_t r = 0;
    bool wrong = false;

    switch (op) {
    case '+':
        wrong = __builtin_add_overflow(a.i, b.i, &r);
        break;
    case '-':
        wrong = __builtin_sub_overflow(a.i, b.i, &r);
        break;
    case '*':
        wrong = __builtin_mul_overflow(a.i, b.i, &r);
        break;
    default:
        if (b.i == 0)
            return cel_fail(s, op == '/' ? "division by zero" : "modulus by zero");
        wrong = b.i == -1 && a.i == INT64_MIN;
        if (!wrong)
            r = op == '/' ? a.i / b.i : a.i % b.i;
    }
    a.i = r;
    return wrong ? cel_fail(s, "integer overflow") : a;
}

static struct cel_value uint_arithmetic(struct cel_state *s, char op, struct cel_value a,
                                        struct cel_value b)
{
    uint64_t r = 0;
    bool wrong = false;

    if (op == '+')
        wrong = __builtin_add_overflow(a.u, b.u, &r);
    else if (op == '-')
        wrong = __builtin_sub_overflow(a.u, b.u, &r);
    else if (op == '*')
        wrong = __builtin_mul_overflow(a.u, b.u, &r);
    else if (b.u == 0)
        return cel_fail(s, op == '/' ? "division by zero" : "modulus by zero");
    else
        r = op == '/' ? a.u / b.u : a.u % b.u;
    a.u = r;
    return wrong ? cel_fail(s, "integer overflow") : a;
}

static struct cel_value concatenate(struct cel_state *s, struct cel_value a, struct cel_value b)
{
    size_t size = a.type == CEL_LIST ? sizeof(struct cel_value) : 1;
    char *joined;

    if (!cel_open(s, &a) || !cel_open(s, &b) || !cel_pay(s, (a.len + b.len) / 10 + 1))
        return too_costly(s);
    joined = arena_alloc(s->arena, (a.len + b.len + 1) * size);
    if (!joined)
        return cel_fail(s, "out of memory");
    if (a.len)
        memcpy(joined, a.type == CEL_LIST ? (const void *)a.items : a.text, a.len * size);
    if (b.len)
        memcpy(joined + a.len * size, a.type == CEL_LIST ? (const void *)b.items : b.text,
               b.len * size);
    a.len += b.len;
    a.schema = NULL;
    if (a.type == CEL_LIST)
        a.items = (struct cel_value *)(void *)joined;
    else
        a.text = joined;
    return a;
}

static struct cel_value arithmetic(struct cel_state *s, const char *op, struct cel_value a,
                                   struct cel_value b)
{
    bool times = (a.type == CEL_TIMESTAMP || a.type == CEL_DURATION) &&
                 (b.type == CEL_TIMESTAMP || b.type == CEL_DURATION);

    if (a.type == CEL_INT && b.type == CEL_INT)
        return int_arithmetic(s, *op, a, b);
    if (a.type == CEL_UINT && b.type == CEL_UINT)
        return uint_arithmetic(s, *op, a, b);
    if (a.type == CEL_DOUBLE && b.type == CEL_DOUBLE && *op != '%') {
        a.d = *op == '+' ? a.d + b.d : *op == '-' ? a.d - b.d : *op == '*' ? a.d * b.d : a.d / b.d;
        return a;
    }
    if (*op == '+' && a.type == b.type &&
        (a.type == CEL_STRING || a.type == CEL_BYTES || a.type == CEL_LIST))
        return concatenate(s, a, b);
    if (times && (*op == '+' || *op == '-') &&
        !(a.type == CEL_DURATION && b.type == CEL_TIMESTAMP && *op == '-') &&
        !(a.type == CEL_TIMESTAMP && b.type == CEL_TIMESTAMP && *op == '+')) {
        struct cel_value r = int_arithmetic(s, *op, a, b);

        if (r.type != CEL_ERROR)
            r.type = a.type != b.type ? CEL_TIMESTAMP : CEL_DURATION;
        return r;
    }
    return no_overload(s, op, a, b);
}

static struct cel_value contains(struct cel_state *s, struct cel_value a, struct cel_value b)
{
    if (b.type != CEL_LIST && b.type != CEL_MAP)
        return no_overload(s, "in", a, b);
    if (!cel_open(s, &b))
        return too_costly(s);
    if (b.type == CEL_MAP)
        return cel_bool(find_entry(s, &b, a) != NULL);
    for (size_t i = 0; i < b.len; i++)
        if (cel_equal(s, a, b.items[i]))
            return cel_bool(true);
    return cel_bool(false);
}

struct cel_value cel_binary(struct cel_state *s, const char *op, struct cel_value a,
                            struct cel_value b)
{
    int n;

    if (a.type == CEL_ERROR || b.type == CEL_ERROR)
        return a.type == CEL_ERROR ? a : b;
    if (strcmp(op, "==") == 0)
        return cel_bool(cel_equal(s, a, b));
    if (strcmp(op, "!=") == 0)
        return cel_bool(!cel_equal(s, a, b));
    if (strcmp(op, "in") == 0)
        return contains(s, a, b);
    if (*op != '<' && *op != '>')
        return arithmetic(s, op, a, b);
    if (!cel_compare(a, b, &n) || a.type == CEL_QUANTITY)
        return is_number(a) && is_number(b) ? cel_bool(false) : no_overload(s, op, a, b);
    if (!cel_pay(s, a.len / 10))
        return too_costly(s);
    if (*op == '<')
        return cel_bool(op[1] ? n <= 0 : n < 0);
    return cel_bool(op[1] ? n >= 0 : n > 0);
}

/* --- members ------------------------------------------------------------------------------ */

static struct cel_value optional_of(struct cel_state *s, struct cel_value v)
{
    struct cel_value *kept = arena_alloc(s->arena, sizeof(*kept));

    if (!kept)
        return cel_fail(s, "out of memory");
    *kept = v;
    return (struct cel_value){.type = CEL_OPTIONAL, .items = kept};
}

static const struct cel_value none = {.type = CEL_OPTIONAL};

static struct cel_value member_of(struct cel_state *s, struct cel_value *map, const char *name,
                                  bool *ret_there)
{
    const struct json *m;
    const struct cel_value *found;

    *ret_there = false;
    if (map->json) {
        m = cel_member(map->json, name);
        *ret_there = m != NULL;
        return m ? cel_from_json(s, m, member_schema(map->schema, m->key)) : none;
    }
    found = find_entry(s, map, text_value(CEL_STRING, name, strlen(name)));
    *ret_there = found != NULL;
    return found ? *found : none;
}

static struct cel_value select_member(struct cel_state *s, const struct cel_node *n,
                                      struct cel_value target)
{
    bool there, optional = target.type == CEL_OPTIONAL;
    struct cel_value v;

    if (target.type == CEL_ERROR)
        return target;
    if (optional && !target.items)
        return n->op == CEL_HAS ? cel_bool(false) : none;
    if (optional)
        target = *target.items;
    if (target.type != CEL_MAP)
        return cel_fail(s, "type '%s' has no member '%s'", cel_type_name(target.type), n->text);
    v = member_of(s, &target, n->text, &there);
    if (n->op == CEL_HAS)
        return cel_bool(there);
    if (!n->maybe && !optional)
        return there ? v : cel_fail(s, "no such key: %s", n->text);
    return there ? optional_of(s, v) : none;
}

static struct cel_value element_of(struct cel_state *s, struct cel_value target,
                                   struct cel_value index, bool *ret_there)
{
    const struct cel_value *found;
    double whole;

    *ret_there = true;
    if (target.type == CEL_MAP) {
        if (target.json && index.type == CEL_STRING) {
            const struct json *m = json_get(target.json, index.text);

            *ret_there = m != NULL;
            return m ? cel_from_json(s, m, member_schema(target.schema, m->key))
                     : cel_fail(s, "no such key: %s", index.text);
        }
        found = find_entry(s, &target, index);
        *ret_there = found != NULL;
        return found ? *found : cel_fail(s, "no such key");
    }
    if (target.type != CEL_LIST)
        return no_overload(s, "[]", target, index);
    if (index.type == CEL_DOUBLE && modf(index.d, &whole) == 0 && fabs(whole) < 1e15)
        index = cel_int((int64_t)whole);
    if (index.type == CEL_UINT)
        index = cel_int(index.u > INT64_MAX ? INT64_MAX : (int64_t)index.u);
    if (index.type != CEL_INT)
        return no_overload(s, "[]", target, index);
    if (index.i < 0 || (uint64_t)index.i >= target.len) {
        *ret_there = false;
        return cel_fail(s, "index out of bounds: %" PRId64, index.i);
    }
    if (target.json) {
        const struct json *item = json_index(target.json, (size_t)index.i);

        return cel_pay(s, (size_t)index.i / 10)
                   ? cel_from_json(s, item, json_get(target.schema, "items"))
                   : too_costly(s);
    }
    return target.items[index.i];
}

static struct cel_value take_element(struct cel_state *s, const struct cel_node *n,
                                     struct cel_value target, struct cel_value index)
{
    bool there, optional = target.type == CEL_OPTIONAL;
    struct cel_value v;

    if (target.type == CEL_ERROR || index.type == CEL_ERROR)
        return target.type == CEL_ERROR ? target : index;
    if (optional && !target.items)
        return none;
    if (optional)
        target = *target.items;
    v = element_of(s, target, index, &there);
    if (!n->maybe && !optional)
        return v;
    return there && v.type != CEL_ERROR ? optional_of(s, v) : none;
}

/* --- macros ------------------------------------------------------------------------------- */

static struct cel_value run(struct cel_state *s, const struct cel_node *n,
                            const struct cel_scope *scope);

/* The result so far. */
struct fold {
    const struct cel_node *macro;
    struct cel_value result, error;
    size_t count;
    bool failed, done;
};

static bool is_true(struct cel_value v)
{
    return v.type == CEL_BOOL && v.b;
}

static void fold_test(struct cel_state *s, struct fold *f, struct cel_value v)
{
    if (v.type != CEL_BOOL && v.type != CEL_ERROR)
        v = cel_fail(s, "%s() takes a condition, not '%s'", f->macro->text, cel_type_name(v.type));
    if (v.type == CEL_ERROR) {
        f->failed = true;
        f->error = v;
        f->done = f->macro->macro == CEL_EXISTS_ONE;
        return;
    }
    if (f->macro->macro == CEL_EXISTS_ONE)
        f->count += v.b;
    else if (v.b == (f->macro->macro == CEL_EXISTS))
        f->result = v, f->done = true, f->failed = false;
}

static void fold_collect(struct cel_state *s, struct fold *f, const struct cel_scope *scope,
                         struct cel_value key, struct cel_value element)
{
    const struct cel_node *m = f->macro;
    bool filters = m->macro == CEL_FILTER || m->args_len == 3;
    struct cel_value passes = filters ? run(s, m->args[1], scope) : cel_bool(true), v;

    if (passes.type != CEL_BOOL && passes.type != CEL_ERROR)
        passes = cel_fail(s, "%s() takes a condition", m->text);
    if (passes.type == CEL_BOOL && !passes.b)
        return;
    v = passes.type == CEL_ERROR ? passes
        : m->macro == CEL_FILTER ? element
                                 : run(s, m->args[m->args_len - 1], scope);
    if (v.type == CEL_ERROR) {
        f->error = v;
        f->failed = f->done = true;
        return;
    }
    if (m->macro == CEL_TRANSFORM_MAP)
        f->result.entries[f->result.len++] = (struct cel_entry){.key = key, .value = v};
    else
        f->result.items[f->result.len++] = v;
}

static void fold_begin(struct cel_state *s, struct fold *f, size_t room)
{
    enum cel_macro m = f->macro->macro;

    if (m == CEL_ALL || m == CEL_EXISTS || m == CEL_EXISTS_ONE) {
        f->result = cel_bool(m == CEL_ALL);
        return;
    }
    f->result = (struct cel_value){.type = m == CEL_TRANSFORM_MAP ? CEL_MAP : CEL_LIST};
    if (m == CEL_TRANSFORM_MAP)
        f->result.entries = arena_alloc(s->arena, (room + 1) * sizeof(struct cel_entry));
    else
        f->result.items = arena_alloc(s->arena, (room + 1) * sizeof(struct cel_value));
    f->done = f->failed = !f->result.items;
    if (f->failed)
        f->error = cel_fail(s, "out of memory");
}

static struct cel_value run_optional_macro(struct cel_state *s, const struct cel_node *n,
                                           struct cel_value target, const struct cel_scope *scope)
{
    struct cel_scope inner = {.up = scope, .name = n->names[0]};
    struct cel_value v;

    if (target.type != CEL_OPTIONAL)
        return cel_fail(s, "%s() is for optionals", n->text);
    if (!target.items)
        return none;
    inner.value = *target.items;
    v = run(s, n->args[1], &inner);
    return v.type == CEL_ERROR || n->macro == CEL_OPT_FLAT_MAP ? v : optional_of(s, v);
}

static struct cel_value run_macro(struct cel_state *s, const struct cel_node *n,
                                  const struct cel_scope *scope)
{
    struct cel_value target = run(s, n->args[0], scope);
    struct fold f = {.macro = n};

    if (target.type == CEL_ERROR)
        return target;
    if (n->macro == CEL_OPT_MAP || n->macro == CEL_OPT_FLAT_MAP)
        return run_optional_macro(s, n, target, scope);
    if (target.type != CEL_LIST && target.type != CEL_MAP)
        return cel_fail(s, "%s() is for lists and maps, not '%s'", n->text,
                        cel_type_name(target.type));
    if (!cel_open(s, &target))
        return too_costly(s);
    fold_begin(s, &f, target.len);
    for (size_t i = 0; i < target.len && !f.done; i++) {
        bool list = target.type == CEL_LIST;
        struct cel_value key = list ? cel_int((int64_t)i) : target.entries[i].key;
        struct cel_value element = list ? target.items[i] : target.entries[i].value;
        struct cel_value one = list ? element : key;
        struct cel_scope first = {
            .up = scope, .name = n->names[0], .value = n->names_len > 1 ? key : one};
        struct cel_scope second = {.up = &first, .name = n->names[1], .value = element};
        const struct cel_scope *inner = n->names_len > 1 ? &second : &first;

        if (!cel_pay(s, 1))
            return too_costly(s);
        if (n->macro == CEL_ALL || n->macro == CEL_EXISTS || n->macro == CEL_EXISTS_ONE)
            fold_test(s, &f, run(s, n->args[1], inner));
        else
            fold_collect(s, &f, inner, key, one);
    }
    if (f.failed)
        return f.error;
    return n->macro == CEL_EXISTS_ONE ? cel_bool(f.count == 1) : f.result;
}

/* --- the tree ----------------------------------------------------------------------------- */

static struct cel_value run_ident(struct cel_state *s, const struct cel_node *n,
                                  const struct cel_scope *scope)
{
    const struct cel_variable *variable;
    const struct json *v;

    if (n->variable == SIZE_MAX) {
        for (; scope; scope = scope->up)
            if (strcmp(scope->name, n->text) == 0)
                return scope->value;
        return cel_fail(s, "no such name: %s", n->text);
    }
    variable = &s->expression->variables[n->variable];
    v = s->values[n->variable];
    if (variable->optional)
        return v ? optional_of(s, cel_from_json(s, v, variable->schema)) : none;
    return cel_from_json(s, v, variable->schema);
}

/* && and ||: an error of one side is absorbed if the other decides the result. */
static struct cel_value run_logic(struct cel_state *s, const struct cel_node *n,
                                  const struct cel_scope *scope)
{
    bool decides = n->op == CEL_OR;
    struct cel_value a = run(s, n->args[0], scope), b;
    const char *problem = s->problem;

    if (a.type == CEL_BOOL && a.b == decides)
        return a;
    b = run(s, n->args[1], scope);
    if (b.type == CEL_BOOL && b.b == decides)
        return b;
    if (a.type == CEL_ERROR) {
        s->problem = problem;
        return a;
    }
    if (b.type == CEL_ERROR)
        return b;
    if (a.type != CEL_BOOL || b.type != CEL_BOOL)
        return no_overload(s, decides ? "||" : "&&", a, b);
    return b;
}

static struct cel_value run_unary(struct cel_state *s, const struct cel_node *n, struct cel_value v)
{
    if (v.type == CEL_ERROR)
        return v;
    if (n->op == CEL_NOT)
        return v.type == CEL_BOOL ? cel_bool(!v.b)
                                  : cel_fail(s, "no such overload: !%s", cel_type_name(v.type));
    if (v.type == CEL_DOUBLE) {
        v.d = -v.d;
        return v;
    }
    if (v.type != CEL_INT && v.type != CEL_DURATION)
        return cel_fail(s, "no such overload: -%s", cel_type_name(v.type));
    if (v.i == INT64_MIN)
        return cel_fail(s, "integer overflow");
    v.i = -v.i;
    return v;
}

static struct cel_value run_collection(struct cel_state *s, const struct cel_node *n,
                                       const struct cel_scope *scope)
{
    bool map = n->op == CEL_MAKE_MAP;
    struct cel_value made = {.type = map ? CEL_MAP : CEL_LIST};

    if (map)
        made.entries = arena_alloc(s->arena, (n->args_len / 2 + 1) * sizeof(*made.entries));
    else
        made.items = arena_alloc(s->arena, (n->args_len + 1) * sizeof(*made.items));
    if (!made.items)
        return cel_fail(s, "out of memory");
    for (size_t i = 0; i < n->args_len; i += map ? 2 : 1) {
        struct cel_value v = run(s, n->args[i], scope), second;

        if (v.type == CEL_ERROR)
            return v;
        if (!map) {
            made.items[made.len++] = v;
            continue;
        }
        second = run(s, n->args[i + 1], scope);
        if (second.type == CEL_ERROR)
            return second;
        if (find_entry(s, &made, v))
            return cel_fail(s, "a map has a key twice");
        made.entries[made.len++] = (struct cel_entry){.key = v, .value = second};
    }
    return made;
}

#define ARGUMENTS_LIMIT 8

static struct cel_value run_call(struct cel_state *s, const struct cel_node *n,
                                 const struct cel_scope *scope)
{
    struct cel_value args[ARGUMENTS_LIMIT];

    if (n->args_len > ARGUMENTS_LIMIT)
        return cel_fail(s, "%s() has too many arguments", n->text);
    for (size_t i = 0; i < n->args_len; i++) {
        args[i] = run(s, n->args[i], scope);
        if (args[i].type == CEL_ERROR)
            return args[i];
    }
    return cel_call(s, n->text, n->method, args, n->args_len);
}

static struct cel_value run(struct cel_state *s, const struct cel_node *n,
                            const struct cel_scope *scope)
{
    struct cel_value a, b;

    if (!cel_pay(s, 1))
        return too_costly(s);
    switch (n->op) {
    case CEL_LITERAL:
        return n->value;
    case CEL_IDENT:
        return run_ident(s, n, scope);
    case CEL_SELECT:
    case CEL_HAS:
        return select_member(s, n, run(s, n->args[0], scope));
    case CEL_INDEX:
        a = run(s, n->args[0], scope);
        return a.type == CEL_ERROR ? a : take_element(s, n, a, run(s, n->args[1], scope));
    case CEL_CALL:
        return run_call(s, n, scope);
    case CEL_MAKE_LIST:
    case CEL_MAKE_MAP:
        return run_collection(s, n, scope);
    case CEL_NOT:
    case CEL_NEGATE:
        return run_unary(s, n, run(s, n->args[0], scope));
    case CEL_AND:
    case CEL_OR:
        return run_logic(s, n, scope);
    case CEL_CHOOSE:
        a = run(s, n->args[0], scope);
        if (a.type != CEL_BOOL)
            return a.type == CEL_ERROR ? a : cel_fail(s, "?: takes a condition");
        return run(s, n->args[is_true(a) ? 1 : 2], scope);
    case CEL_BINARY:
        a = run(s, n->args[0], scope);
        if (a.type == CEL_ERROR)
            return a;
        b = run(s, n->args[1], scope);
        return cel_binary(s, n->text, a, b);
    case CEL_MACRO:
        return run_macro(s, n, scope);
    }
    unreachable();
}

/* --- entry points ------------------------------------------------------------------------- */

static struct cel_value run_whole(const struct cel *e, struct cel_run *how, struct cel_state *s,
                                  struct err *err)
{
    struct cel_value v;
    int64_t allowed = min_i64(how->cost_left, CEL_CALL_COST);

    *s = (struct cel_state){.arena = how->arena,
                            .expression = e,
                            .values = how->values,
                            .cost_left = allowed,
                            .now_ms = how->now_ms};
    v = run(s, e->root, NULL);
    how->cost_left -= allowed - max_i64(s->cost_left, 0);
    if (s->cost_left < 0)
        v = too_costly(s);
    if (v.type == CEL_ERROR)
        err_set(err, ERR_INVALID, "%s", s->problem ? s->problem : "out of memory");
    return v;
}

int cel_test(const struct cel *e, struct cel_run *how, struct err *err)
{
    struct cel_state s;
    struct cel_value v = run_whole(e, how, &s, err);

    if (v.type == CEL_ERROR)
        return -1;
    if (v.type != CEL_BOOL)
        return err_set(err, ERR_INVALID, "must evaluate to a bool, not to '%s'",
                       cel_type_name(v.type));
    return v.b;
}

static struct json *to_json(struct cel_state *s, struct cel_value v, unsigned depth)
{
    struct json *made;
    char digits[40];

    if (depth > CEL_DEPTH_LIMIT || !cel_open(s, &v))
        return NULL;
    switch ((int)v.type) {
    case CEL_NULL:
        return json_new_null(s->arena);
    case CEL_BOOL:
        return json_new_bool(s->arena, v.b);
    case CEL_INT:
        return json_new_int(s->arena, v.i);
    case CEL_DOUBLE:
        (void)snprintf(digits, sizeof(digits), "%.17g", v.d);
        return isfinite(v.d) ? json_new_real(s->arena, digits) : json_new_null(s->arena);
    case CEL_STRING:
        return json_new_string_len(s->arena, v.text, v.len);
    case CEL_OPTIONAL:
        return v.items ? to_json(s, *v.items, depth + 1) : json_new_null(s->arena);
    case CEL_LIST:
        made = json_new_array(s->arena);
        for (size_t i = 0; i < v.len; i++)
            json_append(made, to_json(s, v.items[i], depth + 1));
        return made;
    case CEL_MAP:
        made = json_new_object(s->arena);
        for (size_t i = 0; i < v.len; i++)
            if (v.entries[i].key.type == CEL_STRING)
                json_set(s->arena, made, v.entries[i].key.text,
                         to_json(s, v.entries[i].value, depth + 1));
        return made;
    default:
        v = cel_call(s, "string", false, &v, 1);
        return v.type == CEL_STRING ? json_new_string_len(s->arena, v.text, v.len) : NULL;
    }
}

struct json *cel_value(const struct cel *e, struct cel_run *how, struct err *err)
{
    struct cel_state s;
    struct cel_value v = run_whole(e, how, &s, err);
    struct json *made = v.type == CEL_ERROR ? NULL : to_json(&s, v, 0);

    if (!made && !err_is_set(err))
        err_set(err, ERR_INVALID, "the result cannot be shown");
    return made;
}
