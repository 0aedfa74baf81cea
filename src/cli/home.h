/*
 * home.h - the data folder: its location, contents and holder. One `muster up` at a time: it holds
 * a lock on the file `muster.pid`, which also contains its pid and address.
 */
#ifndef MUSTER_CLI_HOME_H
#define MUSTER_CLI_HOME_H

#include <sys/types.h>

#include "base/err.h"
#include "net/certificate.h"

struct home {
    const char *dir; /* absolute */
    const char *lock_path, *db_path, *token_path, *sessions_path, *kubeconfig_path, *pods_path,
        *log_path;
    const char *authority_path;
};

/* dir_option, else $MUSTER_HOME, else ~/.muster. Touches nothing. */
int home_locate(struct arena *a, const char *dir_option, struct home *ret,
                struct err *err) must_check;
/* Creates the folder, private to its owner. */
int home_create(const struct home *h, struct err *err) must_check;

#define HOME_ADDRESS_SIZE 128

struct home_holder {
    pid_t pid;
    char address[HOME_ADDRESS_SIZE]; /* "127.0.0.1:7447"; "" while it is starting */
};

/* The data folder of the system service (deploy/systemd), which only root can read. */
#define SERVICE_FOLDER "/var/lib/muster"
bool home_is_service_up(struct arena *a);

/* Takes the lock until the descriptor is closed. If taken: ERR_CONFLICT that names the holder. */
int home_lock(const struct home *h, int *ret_fd, struct err *err) must_check;
/* Publishes our pid and address. */
int home_announce(int lock_fd, const char *address, struct err *err) must_check;
/* 1: a daemon holds the folder; 0: none does; negative errno. */
int home_find_holder(const struct home *h, struct home_holder *ret, struct err *err) must_check;

/* Refuses a folder that has pods or logs but no database: a new cluster must not start silently in
 * its place. Removes read permissions of others. The lock must be held. */
int home_check_database(const struct home *h, struct err *err) must_check;

/* The bearer token, generated on first use. */
int home_token(struct arena *a, const struct home *h, const char **ret, struct err *err) must_check;
/* The certificate authority, generated on first use and renewed in its last year. */
int home_authority(struct arena *a, const struct home *h, int64_t now_s, struct key_pair *ret,
                   struct err *err) must_check;
/* address: "127.0.0.1:7447". Not rewritten when unchanged. */
int home_write_kubeconfig(const struct home *h, const char *address, const char *token,
                          const char *ca_pem, struct err *err) must_check;

/* Where `muster notebook --setup` installs JupyterLab; NULL without HOME. Not in the data folder,
 * which root's pods do not see. */
#define JUPYTER_VARIABLE "MUSTER_JUPYTER"
const char *home_jupyter(struct arena *a);

#endif
