/* cel_parse.c - recursive-descent parser; expands has() and the macros. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/cel_node.h"
#include "base/percent.h"
#include "base/utf8.h"

struct parser {
    struct arena *arena;
    const char *begin, *at;
    unsigned depth;
    struct err *err;
};

static struct cel_node *parse_expression(struct parser *p);

static struct cel_node *refuse(struct parser *p, const char *what)
{
    if (!err_is_set(p->err))
        err_set(p->err, ERR_INVALID, "at %zu: %s", (size_t)(p->at - p->begin) + 1, what);
    return NULL;
}

static void skip_space(struct parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n\f");
        if (strncmp(p->at, "//", 2) != 0)
            return;
        p->at += strcspn(p->at, "\n");
    }
}

static bool takes(struct parser *p, const char *text)
{
    size_t len = strlen(text);

    skip_space(p);
    if (strncmp(p->at, text, len) != 0)
        return false;
    p->at += len;
    return true;
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t name_len(const char *at)
{
    size_t n = 0;

    if (!is_name_start(*at))
        return 0;
    while (is_name_start(at[n]) || is_digit(at[n]))
        n++;
    return n;
}

static struct cel_node *new_node(struct parser *p, enum cel_op op, size_t args)
{
    struct cel_node *n = arena_alloc(p->arena, sizeof(*n));

    if (n && args)
        n->args = arena_alloc(p->arena, args * sizeof(struct cel_node *));
    if (!n || (args && !n->args))
        return refuse(p, "out of memory");
    n->op = op;
    n->args_len = args;
    n->variable = SIZE_MAX;
    return n;
}

static struct cel_node *with_args(struct parser *p, enum cel_op op, const char *text,
                                  struct cel_node *a, struct cel_node *b)
{
    struct cel_node *n = a ? new_node(p, op, b ? 2 : 1) : NULL;

    if (!n)
        return NULL;
    n->text = text;
    n->args[0] = a;
    if (b)
        n->args[1] = b;
    return n;
}

/* --- literals ----------------------------------------------------------------------------- */

static struct cel_node *literal(struct parser *p, struct cel_value v)
{
    struct cel_node *n = new_node(p, CEL_LITERAL, 0);

    if (n)
        n->value = v;
    return n;
}

static struct cel_node *parse_number(struct parser *p)
{
    const char *start = p->at;
    bool hex = start[0] == '0' && (start[1] == 'x' || start[1] == 'X');
    size_t n = hex ? 2 + strspn(start + 2, "0123456789abcdefABCDEF") : strspn(start, "0123456789");
    char *end;

    if (!hex &&
        ((start[n] == '.' && is_digit(start[n + 1])) || start[n] == 'e' || start[n] == 'E')) {
        double d = strtod(start, &end);

        p->at = end;
        return literal(p, (struct cel_value){.type = CEL_DOUBLE, .d = d});
    }
    errno = 0;
    if (start[n] == 'u' || start[n] == 'U') {
        uint64_t u = strtoull(start, NULL, hex ? 16 : 10);

        p->at += n + 1;
        return errno ? refuse(p, "the number is too large")
                     : literal(p, (struct cel_value){.type = CEL_UINT, .u = u});
    }
    p->at += n;
    if (strtoull(start, NULL, hex ? 16 : 10) > (uint64_t)INT64_MAX + 1 || errno)
        return refuse(p, "the number is too large");
    return literal(p, cel_int((int64_t)strtoull(start, NULL, hex ? 16 : 10)));
}

static bool add_character(struct buf *out, uint32_t c)
{
    char bytes[4];

    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    buf_add(out, bytes, (size_t)(utf8_put(bytes, c) - bytes));
    return true;
}

static int hex_digits(const char *at, size_t n, uint32_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        int v = hex_digit(at[i]);

        if (v < 0)
            return -EINVAL;
        *ret = *ret << 4 | (uint32_t)v;
    }
    return 0;
}

/* After a backslash. */
static bool add_escape(struct parser *p, struct buf *out, bool bytes)
{
    static const char plain[] = "abfnrtv\\'\"`?", meant[] = "\a\b\f\n\r\t\v\\'\"`?";
    const char *found = *p->at ? strchr(plain, *p->at) : NULL;
    size_t digits = *p->at == 'x' || *p->at == 'X' ? 2 : *p->at == 'u' ? 4 : *p->at == 'U' ? 8 : 0;
    uint32_t c;

    if (found) {
        buf_addc(out, meant[found - plain]);
        p->at++;
        return true;
    }
    if (digits) {
        if (hex_digits(p->at + 1, digits, &c) < 0)
            return false;
        p->at += 1 + digits;
    } else if (p->at[0] >= '0' && p->at[0] <= '3' && p->at[1] >= '0' && p->at[1] <= '7' &&
               p->at[2] >= '0' && p->at[2] <= '7') {
        c = (uint32_t)((p->at[0] - '0') << 6 | (p->at[1] - '0') << 3 | (p->at[2] - '0'));
        p->at += 3;
    } else {
        return false;
    }
    if (bytes && c < 256) {
        buf_addc(out, (char)c);
        return true;
    }
    return c != 0 && add_character(out, c);
}

static struct cel_node *parse_string(struct parser *p, bool raw, bool bytes)
{
    char quote[4] = {p->at[0], '\0'};
    struct buf text = BUF_INIT(CEL_TEXT_LIMIT);
    struct cel_value v = {.type = bytes ? CEL_BYTES : CEL_STRING};
    bool good = true;

    if (p->at[1] == quote[0] && p->at[2] == quote[0])
        memset(quote, p->at[0], 3);
    p->at += strlen(quote);
    while (good && *p->at && strncmp(p->at, quote, strlen(quote)) != 0) {
        if (*p->at == '\n' && !quote[1])
            good = false;
        else if (*p->at != '\\' || raw)
            buf_addc(&text, *p->at++);
        else
            good = p->at++ && add_escape(p, &text, bytes);
    }
    good = good && *p->at && !text.failed;
    if (good) {
        p->at += strlen(quote);
        v.text = arena_strndup(p->arena, text.data ? text.data : "", text.len);
        v.len = text.len;
    }
    buf_release(&text);
    return good && v.text ? literal(p, v)
                          : refuse(p, "the string does not end, or has a bad escape");
}

/* r, b and both before a quotation mark. */
static bool starts_string(const char *at, bool *ret_raw, bool *ret_bytes, size_t *ret_len)
{
    size_t n = 0;

    *ret_raw = *ret_bytes = false;
    for (; n < 2; n++) {
        if ((at[n] == 'r' || at[n] == 'R') && !*ret_raw)
            *ret_raw = true;
        else if ((at[n] == 'b' || at[n] == 'B') && !*ret_bytes)
            *ret_bytes = true;
        else
            break;
    }
    *ret_len = n;
    return at[n] == '"' || at[n] == '\'';
}

/* --- lists of arguments ------------------------------------------------------------------- */

#define ARGS_LIMIT 256u

/* Up to the closing bracket; pairs: "a: b" each. */
static struct cel_node *parse_list(struct parser *p, enum cel_op op, const char *close, bool pairs)
{
    struct cel_node *items[ARGS_LIMIT], *n;
    size_t len = 0;

    while (!takes(p, close)) {
        if (len + 2 > ARGS_LIMIT)
            return refuse(p, "too many elements");
        items[len] = parse_expression(p);
        if (!items[len++])
            return NULL;
        if (pairs) {
            if (!takes(p, ":"))
                return refuse(p, "expected ':'");
            items[len] = parse_expression(p);
            if (!items[len++])
                return NULL;
        }
        if (takes(p, ","))
            continue;
        if (!takes(p, close))
            return refuse(p, "expected ',' or the closing bracket");
        break;
    }
    n = new_node(p, op, len);
    if (n && len)
        memcpy(n->args, items, len * sizeof(items[0]));
    return n;
}

/* --- macros ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum cel_macro macro;
    size_t names_least, names_most, args_least, args_most;
} macros[] = {
    {"all", CEL_ALL, 1, 2, 1, 1},
    {"exists", CEL_EXISTS, 1, 2, 1, 1},
    {"exists_one", CEL_EXISTS_ONE, 1, 2, 1, 1},
    {"existsOne", CEL_EXISTS_ONE, 1, 2, 1, 1},
    {"filter", CEL_FILTER, 1, 1, 1, 1},
    {"map", CEL_MAP_EACH, 1, 1, 1, 2},
    {"transformList", CEL_TRANSFORM_LIST, 2, 2, 1, 2},
    {"transformMap", CEL_TRANSFORM_MAP, 2, 2, 1, 2},
    {"optMap", CEL_OPT_MAP, 1, 1, 1, 1},
    {"optFlatMap", CEL_OPT_FLAT_MAP, 1, 1, 1, 1},
};

/* args: the call's, target first. NULL without an error: not a macro. */
static struct cel_node *as_macro(struct parser *p, const char *name, struct cel_node *call)
{
    size_t given = call->args_len - 1, names = 0;
    struct cel_node *n;

    for (size_t i = 0; i < ELEMS(macros); i++) {
        if (strcmp(macros[i].name, name) != 0)
            continue;
        while (names < macros[i].names_most && names < given &&
               call->args[1 + names]->op == CEL_IDENT && given - names > macros[i].args_least)
            names++;
        /* all(x, y): one name and an expression; all(i, v, e): two */
        if (names < macros[i].names_least || given - names < macros[i].args_least ||
            given - names > macros[i].args_most)
            return refuse(p, "a macro takes names and expressions: all(x, x > 0)");
        n = new_node(p, CEL_MACRO, 1 + given - names);
        if (!n)
            return NULL;
        n->macro = macros[i].macro;
        n->text = macros[i].name;
        n->names_len = names;
        for (size_t k = 0; k < names; k++)
            n->names[k] = call->args[1 + k]->text;
        n->args[0] = call->args[0];
        for (size_t k = 1; k < n->args_len; k++)
            n->args[k] = call->args[names + k];
        return n;
    }
    return NULL;
}

/* --- expressions -------------------------------------------------------------------------- */

static struct cel_node *parse_call(struct parser *p, const char *name, struct cel_node *target)
{
    struct cel_node *list = parse_list(p, CEL_CALL, ")", false), *n, *macro;

    if (!list)
        return NULL;
    if (!target && strcmp(name, "has") == 0) {
        if (list->args_len != 1 || list->args[0]->op != CEL_SELECT)
            return refuse(p, "has() takes a member: has(self.x)");
        list->args[0]->op = CEL_HAS;
        return list->args[0];
    }
    n = new_node(p, CEL_CALL, list->args_len + (target != NULL));
    if (!n)
        return NULL;
    n->text = name;
    n->method = target != NULL;
    if (target)
        n->args[0] = target;
    for (size_t i = 0; i < list->args_len; i++)
        n->args[i + (target != NULL)] = list->args[i];
    macro = target ? as_macro(p, name, n) : NULL;
    return macro || err_is_set(p->err) ? macro : n;
}

static struct cel_node *parse_name(struct parser *p)
{
    static const struct {
        const char *word;
        struct cel_value value;
    } words[] = {{"true", {.type = CEL_BOOL, .b = true}},
                 {"false", {.type = CEL_BOOL, .b = false}},
                 {"null", {.type = CEL_NULL}}};
    size_t len = name_len(p->at);
    const char *name = arena_strndup(p->arena, p->at, len);
    struct cel_node *n;

    if (!name)
        return refuse(p, "out of memory");
    p->at += len;
    for (size_t i = 0; i < ELEMS(words); i++)
        if (strcmp(words[i].word, name) == 0)
            return literal(p, words[i].value);
    if (strcmp(name, "in") == 0)
        return refuse(p, "'in' needs something on its left");
    if (takes(p, "("))
        return parse_call(p, name, NULL);
    n = new_node(p, CEL_IDENT, 0);
    if (n)
        n->text = name;
    return n;
}

static struct cel_node *parse_primary(struct parser *p)
{
    bool raw, bytes;
    size_t prefix;
    struct cel_node *n;

    skip_space(p);
    if (starts_string(p->at, &raw, &bytes, &prefix)) {
        p->at += prefix;
        return parse_string(p, raw, bytes);
    }
    if (is_digit(*p->at) || (*p->at == '.' && is_digit(p->at[1])))
        return parse_number(p);
    if (is_name_start(*p->at))
        return parse_name(p);
    if (takes(p, "(")) {
        n = parse_expression(p);
        if (n && !takes(p, ")"))
            return refuse(p, "expected ')'");
        return n;
    }
    if (takes(p, "["))
        return parse_list(p, CEL_MAKE_LIST, "]", false);
    if (takes(p, "{"))
        return parse_list(p, CEL_MAKE_MAP, "}", true);
    return refuse(p, *p->at ? "unexpected character" : "the expression ends too early");
}

static struct cel_node *parse_select(struct parser *p, struct cel_node *n)
{
    bool maybe = takes(p, "?");
    size_t len;
    const char *name;

    skip_space(p);
    len = name_len(p->at);
    name = len ? arena_strndup(p->arena, p->at, len) : NULL;
    if (!name)
        return refuse(p, "expected a name behind '.'");
    p->at += len;
    if (!maybe && takes(p, "("))
        return parse_call(p, name, n);
    n = with_args(p, CEL_SELECT, name, n, NULL);
    if (n)
        n->maybe = maybe;
    return n;
}

static struct cel_node *parse_member(struct parser *p)
{
    struct cel_node *n = parse_primary(p);
    unsigned links = 0;

    while (n) {
        if (takes(p, ".")) {
            n = parse_select(p, n);
        } else if (takes(p, "[")) {
            bool maybe = takes(p, "?");
            struct cel_node *index = parse_expression(p);

            if (index && !takes(p, "]"))
                return refuse(p, "expected ']'");
            n = index ? with_args(p, CEL_INDEX, NULL, n, index) : NULL;
            if (n)
                n->maybe = maybe;
        } else {
            skip_space(p);
            if (*p->at == '{')
                return refuse(p, "messages cannot be made here");
            return n;
        }
        if (++links + p->depth > 2 * CEL_DEPTH_LIMIT)
            return refuse(p, "the expression is too deep");
    }
    return NULL;
}

static struct cel_node *parse_unary(struct parser *p)
{
    struct cel_node *n;
    enum cel_op op;

    skip_space(p);
    if (*p->at != '!' && *p->at != '-')
        return parse_member(p);
    op = *p->at++ == '!' ? CEL_NOT : CEL_NEGATE;
    if (++p->depth > CEL_DEPTH_LIMIT)
        return refuse(p, "the expression is too deep");
    n = parse_unary(p);
    p->depth--;
    if (n && op == CEL_NEGATE && n->op == CEL_LITERAL && n->value.type == CEL_INT) {
        n->value.i = (int64_t)(0 - (uint64_t)n->value.i);
        return n;
    }
    if (n && op == CEL_NEGATE && n->op == CEL_LITERAL && n->value.type == CEL_DOUBLE) {
        n->value.d = -n->value.d;
        return n;
    }
    return with_args(p, op, NULL, n, NULL);
}

/* Lowest precedence first; longer operators before their prefixes. */
static const char *const levels[][8] = {
    {"<=", ">=", "==", "!=", "<", ">", "in", NULL}, {"+", "-", NULL}, {"*", "/", "%", NULL}};

static const char *take_operator(struct parser *p, size_t level)
{
    skip_space(p);
    for (size_t i = 0; levels[level][i]; i++) {
        const char *op = levels[level][i];

        if (strncmp(p->at, op, strlen(op)) != 0)
            continue;
        if (op[0] == 'i' && name_len(p->at) != 2)
            continue;
        p->at += strlen(op);
        return op;
    }
    return NULL;
}

static struct cel_node *parse_binary(struct parser *p, size_t level)
{
    struct cel_node *n = level == ELEMS(levels) ? parse_unary(p) : parse_binary(p, level + 1);
    const char *op;
    unsigned links = 0;

    if (level == ELEMS(levels))
        return n;
    while (n && (op = take_operator(p, level))) {
        struct cel_node *right = parse_binary(p, level + 1);

        n = right ? with_args(p, CEL_BINARY, op, n, right) : NULL;
        if (++links + p->depth > 2 * CEL_DEPTH_LIMIT)
            return refuse(p, "the expression is too deep");
    }
    return n;
}

static struct cel_node *parse_and(struct parser *p)
{
    struct cel_node *n = parse_binary(p, 0);
    unsigned links = 0;

    while (n && takes(p, "&&")) {
        struct cel_node *right = parse_binary(p, 0);

        n = right ? with_args(p, CEL_AND, NULL, n, right) : NULL;
        if (++links + p->depth > 2 * CEL_DEPTH_LIMIT)
            return refuse(p, "the expression is too deep");
    }
    return n;
}

static struct cel_node *parse_or(struct parser *p)
{
    struct cel_node *n = parse_and(p);
    unsigned links = 0;

    while (n && takes(p, "||")) {
        struct cel_node *right = parse_and(p);

        n = right ? with_args(p, CEL_OR, NULL, n, right) : NULL;
        if (++links + p->depth > 2 * CEL_DEPTH_LIMIT)
            return refuse(p, "the expression is too deep");
    }
    return n;
}

static struct cel_node *parse_expression(struct parser *p)
{
    struct cel_node *n, *yes, *no, *choice;

    if (++p->depth > CEL_DEPTH_LIMIT)
        return refuse(p, "the expression is too deep");
    n = parse_or(p);
    if (n && takes(p, "?")) {
        yes = parse_or(p);
        if (yes && !takes(p, ":"))
            return refuse(p, "expected ':'");
        no = yes ? parse_expression(p) : NULL;
        choice = no ? new_node(p, CEL_CHOOSE, 3) : NULL;
        if (!choice)
            return NULL;
        choice->args[0] = n;
        choice->args[1] = yes;
        choice->args[2] = no;
        n = choice;
    }
    p->depth--;
    return n;
}

struct cel_node *cel_parse(struct arena *a, const char *text, struct err *err)
{
    struct parser p = {.arena = a, .begin = text, .at = text, .err = err};
    struct cel_node *n;

    if (strlen(text) > CEL_TEXT_LIMIT)
        return refuse(&p, "the expression is too long");
    n = parse_expression(&p);
    if (!n)
        return refuse(&p, "out of memory");
    skip_space(&p);
    return *p.at ? refuse(&p, "unexpected text behind the expression") : n;
}
