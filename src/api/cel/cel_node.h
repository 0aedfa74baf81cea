/* cel_node.h - expressions and values inside the evaluator. */
#ifndef MUSTER_API_CEL_NODE_H
#define MUSTER_API_CEL_NODE_H

#include "api/cel.h"

#define CEL_DEPTH_LIMIT 64u

enum cel_type {
    CEL_ERROR,
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_LIST,
    CEL_MAP,
    CEL_TIMESTAMP, /* i: ms since the epoch */
    CEL_DURATION,  /* i: ms */
    CEL_TYPE,      /* text: its name */
    CEL_OPTIONAL,  /* items: the value, or NULL */
    CEL_QUANTITY,  /* i: thousandths; text: as written */
    CEL_URL,       /* text */
};

struct cel_entry;

struct cel_value {
    enum cel_type type;
    const struct json *json;   /* CEL_LIST, CEL_MAP: not converted yet */
    const struct json *schema; /* of it, or of the whole list or map; may be NULL */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        const char *text;
        struct cel_value *items;   /* CEL_LIST, CEL_OPTIONAL */
        struct cel_entry *entries; /* CEL_MAP */
    };
    size_t len;          /* of the text, items or entries */
    const char *written; /* CEL_QUANTITY */
};

struct cel_entry {
    struct cel_value key, value;
};

enum cel_op {
    CEL_LITERAL,
    CEL_IDENT,
    CEL_SELECT, /* args[0].text; maybe: .?text */
    CEL_HAS,    /* the same, whether it is there */
    CEL_INDEX,  /* args[0][args[1]]; maybe: [?x] */
    CEL_CALL,   /* text(args), or args[0].text(args[1..]) when method */
    CEL_MAKE_LIST,
    CEL_MAKE_MAP, /* key, value, key, value ... */
    CEL_NOT,
    CEL_NEGATE,
    CEL_AND,
    CEL_OR,
    CEL_CHOOSE, /* ?: */
    CEL_BINARY, /* text */
    CEL_MACRO,  /* args[0].text(names, args[1..]) */
};

enum cel_macro {
    CEL_ALL,
    CEL_EXISTS,
    CEL_EXISTS_ONE,
    CEL_FILTER,
    CEL_MAP_EACH,
    CEL_TRANSFORM_LIST,
    CEL_TRANSFORM_MAP,
    CEL_OPT_MAP,
    CEL_OPT_FLAT_MAP,
};

struct cel_node {
    enum cel_op op;
    enum cel_macro macro;
    const char *text;
    size_t variable;        /* CEL_IDENT: which one; SIZE_MAX: of a macro */
    struct cel_value value; /* CEL_LITERAL */
    const char *names[2];   /* CEL_MACRO */
    size_t names_len;
    struct cel_node **args;
    size_t args_len;
    bool method, maybe;
};

struct cel {
    struct cel_node *root;
    const struct cel_variable *variables;
};

/* --- compiling --- */
struct cel_node *cel_parse(struct arena *a, const char *text, struct err *err) must_check;
int cel_check(struct cel_node *root, const struct cel_variable *variables,
              struct err *err) must_check;

/* --- evaluating --- */
struct cel_scope {
    const struct cel_scope *up;
    const char *name;
    struct cel_value value;
};

struct cel_state {
    struct arena *arena;
    const struct cel *expression;
    const struct json *const *values;
    int64_t cost_left, now_ms;
    const char *problem; /* of the error being propagated */
};

struct cel_value cel_fail(struct cel_state *s, const char *fmt, ...) printf_like(2, 3);
/* Charges the cost; false: the budget is exhausted. */
bool cel_pay(struct cel_state *s, size_t cost);

struct cel_value cel_from_json(struct cel_state *s, const struct json *v,
                               const struct json *schema);
/* Converts a value that is still JSON to items or entries. */
bool cel_open(struct cel_state *s, struct cel_value *v);
bool cel_equal(struct cel_state *s, struct cel_value a, struct cel_value b);
/* <0, 0, >0; false: not comparable. */
bool cel_compare(struct cel_value a, struct cel_value b, int *ret);
struct cel_value cel_binary(struct cel_state *s, const char *op, struct cel_value a,
                            struct cel_value b);
const char *cel_type_name(enum cel_type type);
bool cel_is_type_name(const char *name);
/* A member by the name it has in expressions: "a__dash__b" is "a-b". */
const struct json *cel_member(const struct json *object, const char *name);

static inline struct cel_value cel_bool(bool b)
{
    return (struct cel_value){.type = CEL_BOOL, .b = b};
}

static inline struct cel_value cel_int(int64_t i)
{
    return (struct cel_value){.type = CEL_INT, .i = i};
}

/* --- functions (cel_library.c) --- */

typedef struct cel_value cel_fn(struct cel_state *s, struct cel_value *args, size_t n);

struct cel_function {
    const char *name;
    bool method;         /* args[0] is what it is called on */
    unsigned char least; /* arguments, with args[0] */
    unsigned char most;
    unsigned receivers; /* bits of enum cel_type that args[0] may be; 0: the function checks */
    cel_fn *fn;
};

/* Of that name and form; args SIZE_MAX: with any number. */
const struct cel_function *cel_find_function(const char *name, bool method, size_t args);
struct cel_value cel_call(struct cel_state *s, const char *name, bool method,
                          struct cel_value *args, size_t n);

#endif
