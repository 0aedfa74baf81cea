/*
 * reflector.h - follows one resource by list and watch and reports its changes in order. It stores
 * no objects: client/cache.h does, and the garbage collector has its own small records.
 *
 * A list is reported as list_begin, put (REFLECTOR_LIST) for each object, list_end; objects not put
 * in between are gone. A list that breaks off starts over with list_begin. Then come watch events:
 * newer than the list, each newer than the one before, without repeats.
 */
#ifndef MUSTER_CLIENT_REFLECTOR_H
#define MUSTER_CLIENT_REFLECTOR_H

#include "api/kind.h"
#include "port/clock.h"
#include "port/transport.h"

struct reflector;

enum reflector_source { REFLECTOR_LIST, REFLECTOR_WATCH };

/* No function may free the reflector. Objects are valid until the function returns. */
struct reflector_handler {
    void (*list_begin)(void *arg);
    /* A negative errno when it could not be stored: the resource is listed again later. */
    int (*put)(void *arg, enum reflector_source source, const struct json *object);
    /* For the objects of a list, instead of put, if it is not NULL: head has only the members in
     * object_head (api/object.h), and text is the object. */
    int (*put_text)(void *arg, const struct json *head, const char *text, size_t len);
    void (*remove)(void *arg, const struct json *object);
    void (*list_end)(void *arg);
    void (*on_trouble)(void *arg, const struct err *err); /* will be retried; may be NULL */
    void *arg;
};

struct reflector_options {
    struct transport *transport;
    struct clock *clock;
    const struct kind *kind;
    const char *ns;    /* NULL: all namespaces */
    const char *query; /* extra selectors, escaped; or NULL */
    bool unhurried;    /* lets others list before it, if there is much to list */
    struct reflector_handler handler;
};

struct reflector *reflector_new(const struct reflector_options *options) must_check;
void reflector_free(struct reflector *r);
/* The newest revision reported, as a number; 0 before the first list or when revisions are not
 * numbers. */
/* Abandons what it is doing and lists at once. */
void reflector_list_again(struct reflector *r);
int64_t reflector_revision(const struct reflector *r);

#endif
