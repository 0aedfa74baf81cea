/*
 * manifest.h - a user's file of objects, checked here by the same tables the server uses, so that
 * an error can show the line it is about. Nothing is sent before every document is fine.
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
    struct json *object;     /* to be sent: decoded, with a namespace; defaults are the server's */
    const struct json *said; /* as the file says it, with a namespace (last_applied.h) */
    const struct json *config; /* the same, decoded */
};

struct manifest {
    const char *file;   /* as it is called in messages */
    const char *folder; /* absolute: where relative paths of its programs start */
    const char *text;
    size_t len;
    struct manifest_object *first, *last;
    size_t count;
    unsigned problems; /* said already */
};

struct manifest_options {
    const char *ns;         /* -n, or NULL */
    const char *default_ns; /* the context's, or NULL */
    const char *name;       /* renames the one job, or NULL */
    bool set_folder;        /* containers without workingDir start in the file's folder */
};

/* Reads file ("-": standard input; a folder: its .yaml, .yml and .json files by name), checks every
 * document and says each problem to t. 0 when all is fine; otherwise negative errno, and err is set
 * only when the file could not be read at all. */
int manifest_load(struct arena *a, const struct talk *t, const char *file,
                  const struct manifest_options *options, struct manifest *ret,
                  struct err *err) must_check;

/* The same of one object that no file holds; what: what it is called in messages. Added to what ret
 * holds already. */
int manifest_of_object(struct arena *a, const struct talk *t, const char *what, struct json *object,
                       const struct manifest_options *options, struct manifest *ret,
                       struct err *err) must_check;

/* Where in a line the value of a field stands: 1-based column and width in bytes. For tests. */
void manifest_caret(const char *line, size_t len, const char *field, unsigned *ret_column,
                    unsigned *ret_width);

#endif
