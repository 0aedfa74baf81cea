/*
 * crds.c - the definitions of the custom kinds, to be read. Which kinds there are is compiled in;
 * but a current kubectl asks for this list when a manifest names a kind it does not know, and says
 * that the kind is unknown only when it gets one.
 */
#include "api/schema.h"
#include "server/internal.h"

int verb_list_crds(struct server_request *r, struct err *err)
{
    struct arena *a = r->arena;
    struct json *list = json_new_object(a), *items;

    json_set_string(a, list, "kind", "CustomResourceDefinitionList");
    json_set_string(a, list, "apiVersion", "apiextensions.k8s.io/v1");
    json_set_stringf(a, json_make_object(a, list, "metadata"), "resourceVersion", "%lld",
                     (long long)store_revision(r->server->store));
    items = json_make_array(a, list, "items");
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i]->custom)
            json_append(items, schema_crd(a, kinds[i]));
    if (arena_failed(a))
        return out_of_memory(err);
    reply_json(r, 200, list);
    return 0;
}
