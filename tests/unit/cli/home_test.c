/* home_test.c - the data folder: rights, lock, token, kubeconfig; and carets under a manifest's
 * line. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/home.h"
#include "cli/manifest.h"
#include "client/kubeconfig.h"
#include "loop/file.h"

#define LARGE_BYTES (256u << 20)

struct fixture {
    struct arena arena;
    char folder[64];
    struct home home;
};

static int make(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    auto_err err = ERR_INIT;
    char path[128];

    assert_non_null(f);
    arena_init(&f->arena, 1u << 20);
    strcpy(f->folder, "/tmp/muster-home-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(path, sizeof(path), "%s/deep/data", f->folder);
    assert_int_equal(home_locate(&f->arena, path, &f->home, &err), 0);
    *state = f;
    return 0;
}

static int unmake(void **state)
{
    struct fixture *f = *state;
    char command[128];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", f->folder);
    assert_int_equal(system(command), 0);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void folder_is_private(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(mode_of(f->home.dir), 0700);
    assert_int_equal(chmod(f->home.dir, 0755), 0);
    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(mode_of(f->home.dir), 0700);
}

static void second_daemon_is_told_who_holds_the_folder(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT, refused = ERR_INIT;
    struct home_holder holder;
    char expected[64];
    int fd = -1, second = -1;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(home_find_holder(&f->home, &holder, &err), 0);
    assert_int_equal(home_lock(&f->home, &fd, &err), 0);
    assert_int_equal(home_find_holder(&f->home, &holder, &err), 1);
    assert_int_equal(holder.pid, 0); /* not said yet */
    assert_int_equal(home_announce(fd, "127.0.0.1:7447", &err), 0);
    assert_int_equal(home_find_holder(&f->home, &holder, &err), 1);
    assert_int_equal(holder.pid, getpid());
    assert_string_equal(holder.address, "127.0.0.1:7447");
    assert_true(home_lock(&f->home, &second, &refused) < 0);
    assert_int_equal(refused.reason, ERR_CONFLICT);
    (void)snprintf(expected, sizeof(expected), "process %d at 127.0.0.1:7447", (int)getpid());
    assert_non_null(strstr(refused.text, expected));
    close(fd);
    assert_int_equal(home_find_holder(&f->home, &holder, &err), 0);
    assert_int_equal(home_lock(&f->home, &second, &err), 0);
    close(second);
}

static void a_dead_holder_holds_nothing(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    struct home_holder holder;
    pid_t child;
    int status, fd = -1;

    assert_int_equal(home_create(&f->home, &err), 0);
    child = fork();
    if (child == 0) {
        if (home_lock(&f->home, &fd, NULL) || home_announce(fd, "127.0.0.1:1", NULL))
            _exit(1);
        kill(getpid(), 9);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(home_find_holder(&f->home, &holder, &err), 0);
    assert_int_equal(home_lock(&f->home, &fd, &err), 0);
    assert_int_equal(home_find_holder(&f->home, &holder, &err), 1);
    assert_int_equal(holder.pid, 0); /* what the dead one wrote is gone */
    close(fd);
}

/* It may not have been waited for yet, and its threads and forks end a moment later. */
static void a_killed_holder_is_not_said_to_be_up(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT, refused = ERR_INIT;
    siginfo_t info;
    pid_t child;
    int fd = -1, second = -1;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(home_lock(&f->home, &fd, &err), 0);
    child = fork();
    if (child == 0)
        _exit(home_announce(fd, "127.0.0.1:1", NULL) ? 1 : 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, 0);
    assert_true(home_lock(&f->home, &second, &refused) < 0);
    assert_non_null(strstr(refused.text, "another muster is starting or stopping"));
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
}

/* Its locks go when its memory is freed, which takes a while. */
static void a_holder_on_its_way_out_is_waited_for(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    int fd = -1, told[2];
    pid_t child;
    char byte;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(pipe(told), 0);
    child = fork();
    if (child == 0) {
        if (home_lock(&f->home, &fd, NULL) || home_announce(fd, "127.0.0.1:1", NULL) ||
            mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED ||
            write(told[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    if (home_lock(&f->home, &fd, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
    close(told[0]);
    close(told[1]);
}

static void token_is_made_once(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    const char *first = NULL, *second = NULL;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(home_token(&f->arena, &f->home, &first, &err), 0);
    assert_int_equal(strlen(first), 64);
    assert_int_equal(mode_of(f->home.token_path), 0600);
    assert_int_equal(home_token(&f->arena, &f->home, &second, &err), 0);
    assert_string_equal(first, second);
}

/* An upgrade, a backup or a careless chmod. */
static void what_others_can_read_is_mended(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    const char *first = NULL, *second = NULL;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(home_token(&f->arena, &f->home, &first, &err), 0);
    assert_int_equal(home_write_kubeconfig(&f->home, "127.0.0.1:7447", first, "CA", &err), 0);
    assert_int_equal(chmod(f->home.token_path, 0644), 0);
    assert_int_equal(chmod(f->home.kubeconfig_path, 0640), 0);
    assert_int_equal(home_token(&f->arena, &f->home, &second, &err), 0);
    assert_int_equal(home_write_kubeconfig(&f->home, "127.0.0.1:7447", second, "CA", &err), 0);
    assert_string_equal(first, second);
    assert_int_equal(mode_of(f->home.token_path), 0600);
    assert_int_equal(mode_of(f->home.kubeconfig_path), 0600);
}

static void a_token_that_is_no_file_is_refused(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    const char *token = NULL;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(symlink("/etc/hostname", f->home.token_path), 0);
    assert_int_equal(home_token(&f->arena, &f->home, &token, &err), -EPERM);
    assert_non_null(strstr(err.text, f->home.token_path));
    assert_null(token);
    assert_int_equal(unlink(f->home.token_path), 0);
}

static void links_in_place_of_files_are_not_followed(void **state)
{
    struct fixture *f = *state;
    const char *target = arena_printf(&f->arena, "%s/target", f->home.dir);
    const char *log = arena_printf(&f->arena, "%s-wal", f->home.db_path);
    const char *const links[] = {f->home.db_path, log};
    auto_err err = ERR_INIT;
    int fd;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(file_write_atomic(target, "precious", 8, 0644), 0);
    assert_int_equal(chmod(target, 0644), 0);
    for (size_t i = 0; i < ELEMS(links); i++) {
        auto_err refusal = ERR_INIT;

        assert_int_equal(symlink(target, links[i]), 0);
        assert_int_equal(home_check_database(&f->home, &refusal), -EPERM);
        assert_non_null(strstr(refusal.text, links[i]));
        assert_int_equal(mode_of(target), 0644);
        assert_int_equal(unlink(links[i]), 0);
    }
    assert_int_equal(symlink(target, f->home.lock_path), 0);
    assert_true(home_lock(&f->home, &fd, &err) < 0);
    assert_int_equal(unlink(f->home.lock_path), 0);
    assert_int_equal(unlink(target), 0);
}

static void authority_is_made_once_and_renewed(void **state)
{
    const int64_t now_s = 1800000000, nine_years_s = (int64_t)9 * 366 * 24 * 3600;
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    struct key_pair first, second, renewed;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(home_authority(&f->arena, &f->home, now_s, &first, &err), 0);
    assert_int_equal(mode_of(f->home.authority_path), 0600);
    assert_int_equal(home_authority(&f->arena, &f->home, now_s, &second, &err), 0);
    assert_string_equal(first.key, second.key);
    assert_int_equal(home_authority(&f->arena, &f->home, now_s + nine_years_s, &renewed, &err), 0);
    assert_string_not_equal(first.certificate, renewed.certificate);
    assert_memory_equal(first.key, renewed.key, (size_t)(first.certificate - first.key));
    assert_int_equal(home_authority(&f->arena, &f->home, now_s + nine_years_s, &second, &err), 0);
    assert_string_equal(second.key, renewed.key);
    assert_int_equal(file_write_atomic(f->home.authority_path, "garbage", 7, 0600), 0);
    assert_int_not_equal(home_authority(&f->arena, &f->home, now_s, &second, &err), 0);
    assert_non_null(strstr(err.hint, "rm "));
}

static void kubeconfig_follows_the_address(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;
    struct client_config config;

    assert_int_equal(home_create(&f->home, &err), 0);
    assert_int_equal(home_write_kubeconfig(&f->home, "127.0.0.1:7447", "abc", "CA", &err), 0);
    assert_int_equal(mode_of(f->home.kubeconfig_path), 0600);
    assert_int_equal(home_write_kubeconfig(&f->home, "127.0.0.1:7448", "abc", "CA", &err), 0);
    assert_int_equal(kubeconfig_load(&f->arena, f->home.kubeconfig_path, NULL, &config, &err), 0);
    assert_non_null(strstr(config.server, "127.0.0.1:7448"));
    assert_string_equal(config.token, "abc");
    assert_string_equal(config.reach.ca_pem, "CA");
}

static void carets_point_at_the_value(void **state)
{
    static const struct {
        const char *line, *field;
        unsigned column, width;
    } cases[] = {
        {"    restartPolicy: Sometimes", "spec.replicaSpecs[0].restartPolicy", 20, 9},
        {"    restartPolicy: Sometimes  # really", "spec.replicaSpecs[0].restartPolicy", 20, 9},
        {"  - type: worker", "spec.replicaSpecs[0].type", 11, 6},
        {"  replicaSpecs:", "spec.replicaSpecs", 3, 12},
        {"  \"replicas\": -1,", "spec.replicaSpecs[0].replicas", 15, 2},
        {"  labels: {a: b c, d: e}", "metadata.labels[d]", 23, 1},
        {"  labels: {a: b c, d: e}", "metadata.labels", 11, 14},
        {"    example.com/team: 5", "metadata.labels[example.com/team]", 23, 1},
        {"  - type: worker", "spec.replicaSpecs[0].template", 5, 12},
        {"name: x", "metadata.name", 7, 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        unsigned column = 0, width = 0;

        manifest_caret(cases[i].line, strlen(cases[i].line), cases[i].field, &column, &width);
        assert_int_equal(column, cases[i].column);
        assert_int_equal(width, cases[i].width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folder_is_private, make, unmake),
        cmocka_unit_test_setup_teardown(second_daemon_is_told_who_holds_the_folder, make, unmake),
        cmocka_unit_test_setup_teardown(a_dead_holder_holds_nothing, make, unmake),
        cmocka_unit_test_setup_teardown(a_holder_on_its_way_out_is_waited_for, make, unmake),
        cmocka_unit_test_setup_teardown(a_killed_holder_is_not_said_to_be_up, make, unmake),
        cmocka_unit_test_setup_teardown(token_is_made_once, make, unmake),
        cmocka_unit_test_setup_teardown(what_others_can_read_is_mended, make, unmake),
        cmocka_unit_test_setup_teardown(a_token_that_is_no_file_is_refused, make, unmake),
        cmocka_unit_test_setup_teardown(links_in_place_of_files_are_not_followed, make, unmake),
        cmocka_unit_test_setup_teardown(authority_is_made_once_and_renewed, make, unmake),
        cmocka_unit_test_setup_teardown(kubeconfig_follows_the_address, make, unmake),
        cmocka_unit_test(carets_point_at_the_value),
    };

    return cmocka_run_group_tests_name("cli/home", tests, NULL, NULL);
}
