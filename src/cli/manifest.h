/*
 * manifest.h - a user's file of objects, checked against the same tables the server uses, so that
 * an error can show its line. Nothing is sent unless every document is valid.
 */
#ifndef MUSTER_CLI_MANIFEST_H
#define MUSTER_CLI_MANIFEST_H

#include "api/kind.h"
#include "cli/talk.h"

#define MANIFEST_LIMIT_BYTES (16u * 1024u * 1024u)
#define MANIFEST_OBJECTS_LIMIT 10000

struct manifest_object {
    struct manifest_object *next;
    const struct kind *kind;
    struct json *object;       /* to be sent: decoded, with a namespace; the server adds defaults */
    const struct json *said;   /* as in the file, with a namespace (last_applied.h) */
    const struct json *config; /* the same, decoded */
};

struct manifest {
    const char *file;   /* its name in messages */
    const char *folder; /* absolute: the base of its programs' relative paths */
    const char *text;
    size_t len;
    struct manifest_object *first, *last;
    size_t count;
    unsigned problems; /* already reported */
};

struct manifest_options {
    const char *ns;         /* -n, or NULL */
    const char *default_ns; /* the context's, or NULL */
    const char *name;       /* renames the one job, or NULL */
    bool set_folder;        /* containers without workingDir start in the file's folder */
};

/* Reads file ("-": standard input; a folder: its .yaml, .yml and .json files by name), checks every
 * document and reports each problem to t. 0 when all is valid; otherwise negative errno, and err is
 * set only when the file could not be read at all. */
int manifest_load(struct arena *a, const struct talk *t, const char *file,
                  const struct manifest_options *options, struct manifest *ret,
                  struct err *err) must_check;

/* The same for an object without a file; what: its name in messages. Added to what ret contains. */
int manifest_of_object(struct arena *a, const struct talk *t, const char *what, struct json *object,
                       const struct manifest_options *options, struct manifest *ret,
                       struct err *err) must_check;

/* Where in a line a field's value is: 1-based column and width in bytes. For tests. */
void manifest_caret(const char *line, size_t len, const char *field, unsigned *ret_column,
                    unsigned *ret_width);

#endif
