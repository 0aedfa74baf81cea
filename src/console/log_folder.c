/* log_folder.c - see log_folder.h. */
#include "console/log_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/object.h"
#include "core/replica_names.h"

/* --- filesets --------------------------------------------------------------------------- */

int log_fileset_parse(struct arena *a, const char *fileset, const char **ret_claim,
                      const char **ret_path, struct err *err)
{
    static const char pvc[] = "t9k://pvc/";
    const char *claim = fileset + strlen(pvc), *slash;

    if (strncmp(fileset, pvc, strlen(pvc)) != 0 || !*claim || *claim == '/')
        return err_set(err, ERR_BAD_REQUEST,
                       "spec.tensorboardSpec.trainingLogFilesets: \"%.200s\" cannot be read: only "
                       "t9k://pvc/NAME/path can",
                       fileset);
    slash = strchrnul(claim, '/');
    *ret_claim = arena_strndup(a, claim, (size_t)(slash - claim));
    *ret_path = arena_strdup(a, *slash ? slash + 1 : "");
    return arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
}

/* --- the working folder ----------------------------------------------------------------- */

/* Every job kind has its templates somewhere; uses the first container with a workingDir. */
static const char *find_working_dir(const struct json *v, unsigned depth)
{
    const char *found = json_get_string(v, "workingDir", NULL);

    if (found && *found)
        return found;
    found = NULL;
    if (depth < 16)
        json_each (child, v) {
            found = json_type_of(child) >= JSON_ARRAY ? find_working_dir(child, depth + 1) : NULL;
            if (found)
                break;
        }
    return found;
}

/* The users its containers run as. Root may read whatever we may. */
static bool find_users(const struct json *v, unsigned depth, struct log_rule *rule)
{
    const struct json *user = json_get(v, "runAsUser");

    if (json_is(user, JSON_INT)) {
        if (user->u.integer == 0 || rule->owners_len == LOG_OWNERS_LIMIT)
            return false;
        rule->owners[rule->owners_len++] = (uid_t)user->u.integer;
    }
    if (depth < 16)
        json_each (child, v)
            if (json_type_of(child) >= JSON_ARRAY && !find_users(child, depth + 1, rule))
                return false;
    return true;
}

void log_rule_own(struct log_rule *rule, const struct json *job, const char *machine)
{
    int64_t ended_ms = object_time(json_get(job, "status"), "completionTime");
    char hash5[HASH5_SIZE];

    replica_hash5(object_name(job), object_uid(job), hash5);
    (void)snprintf(rule->host_prefix, sizeof(rule->host_prefix), "%s-%s-", object_name(job), hash5);
    (void)snprintf(rule->machine, sizeof(rule->machine), "%s", machine);
    rule->all = false;
    rule->from_s = object_created_ms(job) / 1000;
    rule->to_s = ended_ms ? ended_ms / 1000 : INT64_MAX;
}

static void add_root(struct log_folder *f, const char *base, const char *relative,
                     enum folder_scope scope)
{
    f->roots[f->roots_len++] = (struct board_root){
        .base = base, .relative = relative, .name = "", .scope = scope};
}

int log_folder_of(struct arena *a, const struct json *job, const char *machine,
                  struct log_folder *ret, struct err *err)
{
    const char *said = object_annotation(job, ANNOTATION_LOG_DIR);
    const char *working = find_working_dir(json_get(job, "spec"), 0);

    *ret = (struct log_folder){.rule = {.all = true}};
    if (!working)
        working = object_annotation(job, ANNOTATION_FOLDER);
    working = working && *working == '/' ? arena_strdup(a, working) : NULL;
    if (said && *said == '/')
        add_root(ret, arena_strdup(a, said), "", FOLDER_ALL);
    else if (said && *said && working)
        add_root(ret, working, arena_strdup(a, said), FOLDER_ALL);
    else if (said && *said)
        return err_set(err, ERR_BAD_REQUEST,
                       "annotation %s: \"%s\" is relative, and no container of the job has a "
                       "workingDir",
                       ANNOTATION_LOG_DIR, said);
    if (ret->roots_len)
        return arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
    if (!working) {
        err_set(err, ERR_NOT_FOUND, "the job does not say where its event files are");
        err_hint(err,
                 "set spec.tensorboardSpec.trainingLogFilesets, the annotation %s or a "
                 "container's workingDir",
                 ANNOTATION_LOG_DIR);
        return -1;
    }
    add_root(ret, working, "", FOLDER_WORKING);
    log_rule_own(&ret->rule, job, machine);
    if (object_annotation(job, ANNOTATION_RUN_AS))
        ret->rule.owners[ret->rule.owners_len++] = (uid_t)strtoul(
            object_annotation(job, ANNOTATION_RUN_AS), NULL, 10);
    else if (geteuid() == 0 && !find_users(json_get(job, "spec"), 0, &ret->rule))
        ret->rule.owners_len = 0;
    return arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
}

/* --- which files ------------------------------------------------------------------------ */

static bool is_owner(const struct log_rule *rule, uid_t owner)
{
    for (size_t i = 0; i < rule->owners_len; i++)
        if (rule->owners[i] == owner)
            return true;
    return rule->owners_len == 0;
}

bool log_rule_wants(const struct log_rule *rule, const char *file_name, uid_t owner)
{
    static const char mark[] = "tfevents.";
    const char *at = strstr(file_name, mark);
    char *end;
    long long seconds;

    if (!is_owner(rule, owner))
        return false;
    if (rule->all)
        return true;
    if (!at)
        return false;
    seconds = strtoll(at + strlen(mark), &end, 10);
    if (*end != '.' || seconds < rule->from_s)
        return false;
    end++;
    if (strncmp(end, rule->host_prefix, strlen(rule->host_prefix)) == 0)
        return true;
    return seconds <= rule->to_s && *rule->machine &&
           strncmp(end, rule->machine, strlen(rule->machine)) == 0 &&
           end[strlen(rule->machine)] == '.';
}
