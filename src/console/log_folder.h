/*
 * log_folder.h - where a job's event files are. Pure. In this order:
 *
 *   spec.tensorboardSpec.trainingLogFilesets  t9k://pvc/NAME/path, through the claim's folder on
 * this machine (its annotation muster.dev/path) annotation muster.dev/log-dir             a folder,
 * relative to the working folder or absolute the working folder of its containers      of what is
 * below, the files the job wrote itself
 *
 * In a working folder several jobs may write. A job's own files are those made since it was created
 * that name one of its replicas as the host (the usual event file name is
 * events.out.tfevents.SECONDS.HOST.PID.N), or this machine while the job ran: there its pods may
 * have no host names of their own. machine "": they have, so that is another program's file.
 */
#ifndef MUSTER_CONSOLE_LOG_FOLDER_H
#define MUSTER_CONSOLE_LOG_FOLDER_H

#include "base/json.h"
#include "board/board.h"

/* Which event files in a working folder are a job's. */
#define LOG_OWNERS_LIMIT 8

struct log_rule {
    bool all;
    char host_prefix[320], machine[80];
    int64_t from_s, to_s;
    /* Required owners, where the daemon may read more than the job; 0: any. */
    uid_t owners[LOG_OWNERS_LIMIT];
    size_t owners_len;
};

struct log_folder {
    struct board_root roots[BOARD_ROOTS_LIMIT];
    size_t roots_len;
    struct log_rule rule;
};

/* The claim and path of one fileset. Refuses anything but t9k://pvc/NAME/path, with a reason. */
int log_fileset_parse(struct arena *a, const char *fileset, const char **ret_claim,
                      const char **ret_path, struct err *err) must_check;
/* Folders that need no claim. If there are none, err says what to do. machine: this one's name. */
int log_folder_of(struct arena *a, const struct json *job, const char *machine,
                  struct log_folder *ret, struct err *err) must_check;
/* Only what the job wrote itself, wherever it is. */
void log_rule_own(struct log_rule *rule, const struct json *job, const char *machine);
bool log_rule_wants(const struct log_rule *rule, const char *file_name, uid_t owner);

#endif
