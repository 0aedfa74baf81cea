/*
 * options.h - a command's options, by table. An entry says where in the command's own struct its
 * value is stored; the struct starts as a copy of the command's defaults.
 */
#ifndef MUSTER_CLI_OPTIONS_H
#define MUSTER_CLI_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char * */
    OPTION_INT,    /* int64_t >= least */
    OPTION_CHOICE, /* const char *, one of values[]; one ending with = takes a value after it */
    OPTION_LIST,   /* struct option_list: repeatable */
};

#define OPTION_LIST_LIMIT 4096

struct option_list {
    const char *items[OPTION_LIST_LIMIT + 1]; /* NULL-terminated */
    size_t len;
};

struct option_spec {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* short form, or 0 */
    enum option_type type;
    size_t offset;             /* of the value in the command's struct */
    const char *value_name;    /* "DIR", for help; NULL for flags */
    const char *doc;           /* one line */
    const char *const *values; /* OPTION_CHOICE, NULL-terminated */
    int64_t least;             /* OPTION_INT */
};

/* clang-format off */
/* Further members follow the doc. */
#define OPTION_OF(kind, own, member, option, what, ...) \
    {.name = (option), .type = (kind), .offset = offsetof(own, member), \
     .value_name = (what), .doc = __VA_ARGS__}
#define OPTION_OF_FLAG(own, member, option, ...) \
    OPTION_OF(OPTION_FLAG, own, member, option, NULL, __VA_ARGS__)
#define OPTION_OF_INT(...) OPTION_OF(OPTION_INT, __VA_ARGS__)
#define OPTION_OF_TEXT(...) OPTION_OF(OPTION_TEXT, __VA_ARGS__)
/* clang-format on */

/* Maximum number of words that are not options. */
#define ARGS_LIMIT 1024

struct args {
    const char *list[ARGS_LIMIT];
    size_t len;
    size_t before_dashes; /* of the list before "--"; len without one */
    bool dashes;          /* there was a "--" */
    bool help;            /* -h or --help was given */
};

/* Options and other words may be mixed; "--" ends the options. */
int options_parse(const struct option_spec *specs, void *values, int argc, char **argv,
                  struct args *args, struct err *err) must_check;
void options_help(const struct option_spec *specs, struct buf *out);

#endif
