/* board_test.c - runs, tags and points of event files as the usual writers make them. */
#include <math.h>
#include <sys/stat.h>

#include "board/fixture.h"

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    place_make(p);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place_remove(*state);
    free(*state);
    return 0;
}

static void write_scalars(const struct place *p, const char *folder, const char *name,
                          const char *tag, int64_t from, int64_t to, float value)
{
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);

    put_version(&file);
    for (int64_t step = from; step <= to; step++)
        put_scalar(&file, step, 1e9 + (double)step, tag, value);
    place_write(p, folder, name, file.data, file.len, O_TRUNC);
    buf_release(&file);
}

static void runs_are_folders_named_by_their_path(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);

    write_scalars(p, "", EVENT_FILE, "loss", 1, 3, 1);
    write_scalars(p, "a/deep/run", EVENT_FILE, "loss", 1, 4, 1);
    write_scalars(p, "b", "x.tfevents", "loss", 1, 5, 1);
    write_scalars(p, "c", "notes.txt", "loss", 1, 5, 1);
    write_scalars(p, "d", "events.tfevents.profile-empty", "loss", 1, 5, 1);
    read_all(b);
    assert_int_equal(board_runs(b)->count, 3);
    assert_int_equal(points_named(b, ".", "loss"), 3);
    assert_int_equal(points_named(b, "a/deep/run", "loss"), 4);
    assert_int_equal(points_named(b, "b", "loss"), 5);
    board_free(b);
}

static void links_lead_nowhere(void **state)
{
    const struct place *p = *state;
    struct place other;
    char path[512], target[512];
    struct board *b = place_board(p);

    place_make(&other);
    write_scalars(&other, "secret", EVENT_FILE, "loss", 1, 3, 1);
    (void)snprintf(target, sizeof(target), "%s/secret", other.path);
    (void)snprintf(path, sizeof(path), "%s/folder", p->path);
    assert_int_equal(symlink(target, path), 0);
    (void)snprintf(target, sizeof(target), "%s/secret/%s", other.path, EVENT_FILE);
    (void)snprintf(path, sizeof(path), "%s/%s", p->path, EVENT_FILE);
    assert_int_equal(symlink(target, path), 0);
    read_all(b);
    assert_int_equal(board_runs(b)->count, 0);
    board_free(b);
    assert_int_equal(folder_open(p->path, "folder", (struct folder_fence){0}), -ENOTDIR);
    assert_int_equal(folder_open(p->path, "x/../..", (struct folder_fence){0}), -ENOENT);
    assert_int_equal(folder_open(p->path, "../etc", (struct folder_fence){0}), -EINVAL);
    assert_int_equal(folder_open(p->path, "/..", (struct folder_fence){0}), -EINVAL);
    place_remove(&other);
}

/* Neither by its path, nor from a folder around it, nor by a link; from a base that is given there.
 */
static void a_fenced_folder_is_never_entered(void **state)
{
    struct place *p = *state;
    struct folder_fence fence = {.path = NULL};
    struct board_root root = {.base = p->path, .relative = "", .name = ""};
    char own[200], given[200], link[200];
    struct board *b;
    int fd;

    (void)snprintf(own, sizeof(own), "%s/own", p->path);
    (void)snprintf(given, sizeof(given), "%s/own/given", p->path);
    (void)snprintf(link, sizeof(link), "%s/link", p->path);
    write_scalars(p, "own/given", EVENT_FILE, "hush", 1, 3, 1);
    write_scalars(p, "plain", EVENT_FILE, "loss", 1, 3, 1);
    assert_int_equal(symlink(own, link), 0);
    fence.path = root.fence.path = own;
    assert_int_equal(folder_open(own, "", fence), -EACCES);
    assert_int_equal(folder_open(given, "", fence), -EACCES);
    assert_int_equal(folder_open(link, "given", fence), -EACCES);
    assert_int_equal(folder_open(p->path, "own/given", fence), -EACCES);
    fence.trusted_base = true;
    assert_int_equal(folder_open(p->path, "own/given", fence), -EACCES);
    fd = folder_open(given, "", fence);
    assert_true(fd >= 0);
    (void)close(fd);
    b = board_new(&(struct board_options){.roots = &root, .roots_len = 1});
    assert_non_null(b);
    read_all(b);
    assert_int_equal(board_runs(b)->count, 1);
    assert_non_null(board_run(b, "plain"));
    board_free(b);
}

/* A pipe by that name would be waited for forever. */
static void a_large_folder_is_looked_at_seldom(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    auto_err err = ERR_INIT;
    char name[32];

    assert_int_equal(board_look(b, &err), 0);
    assert_int_equal(board_rest_ms(b), 400);
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        place_write(p, "data", name, "", 0, 0);
    }
    assert_int_equal(board_look(b, &err), 0);
    assert_true(board_rest_ms(b) >= 1000);
    board_free(b);
}

static void only_plain_files_are_read(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s", p->path, EVENT_FILE);
    assert_int_equal(mkfifo(path, 0600), 0);
    read_all(b);
    assert_int_equal(board_runs(b)->count, 0);
    board_free(b);
}

static void a_restart_supersedes_by_its_session_start(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf second = BUF_INIT(FILES_LIMIT_BYTES);

    write_scalars(p, "", "events.out.tfevents.1.h", "loss", 1, 100, 1);
    write_scalars(p, "", "events.out.tfevents.2.h", "accuracy", 1, 100, 1);
    put_version(&second);
    put_session_start(&second, 51, 1e9);
    put_scalar(&second, 51, 1e9, "loss", 2);
    place_write(p, "", "events.out.tfevents.3.h", second.data, second.len, O_TRUNC);
    read_all(b);
    assert_int_equal(points_named(b, ".", "loss"), 51);
    assert_true(series_named(b, ".", "loss")->last.value == 2);
    assert_int_equal(points_named(b, ".", "accuracy"), 50); /* though it has said nothing yet */
    board_free(b);
    buf_release(&second);
}

static void the_first_session_start_of_the_first_file_is_no_restart(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);

    put_version(&file);
    put_scalar(&file, 1, 1e9, "loss", 1);
    put_session_start(&file, 0, 1e9);
    put_scalar(&file, 2, 1e9, "loss", 1);
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    assert_int_equal(points_named(b, ".", "loss"), 2);
    board_free(b);
    buf_release(&file);
}

static void a_file_written_anew_replaces_what_it_said(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);

    write_scalars(p, "", EVENT_FILE, "loss", 1, 100, 1);
    read_all(b);
    write_scalars(p, "", EVENT_FILE, "loss", 1, 10, 2);
    read_all(b);
    assert_int_equal(points_named(b, ".", "loss"), 10);
    assert_true(series_named(b, ".", "loss")->first.value == 2);
    board_free(b);
}

/* --- tensors ---------------------------------------------------------------------------- */

static const struct {
    const char *tag;
    unsigned dtype, list, wire;
    uint64_t bits;
    size_t size;
    double value;
} numbers[] = {
    {"float", 1, 5, 5, 0x3e800000, 4, 0.25},
    {"double", 2, 6, 1, 0x3fb999999999999au, 8, 0.1},
    {"int32", 3, 7, 0, 0xffffffffffffffffu, 4, -1},
    {"uint8", 4, 7, 0, 200, 1, 200},
    {"int16", 5, 7, 0, 0xfffffffffffffffeu, 2, -2},
    {"int8", 6, 7, 0, 0xfffffffffffffffdu, 1, -3},
    {"int64", 9, 10, 0, 0xffffffffffffff85u, 8, -123},
    {"bool", 10, 11, 0, 1, 1, 1},
    {"bfloat16", 14, 13, 0, 0x3f80, 2, 1},
    {"uint16", 17, 7, 0, 65535, 2, 65535},
    {"half", 19, 13, 0, 0x3555, 2, 0.333251953125},
    {"half_small", 19, 13, 0, 0x8001, 2, -0x1p-24},
    {"half_infinite", 19, 13, 0, 0x7c00, 2, INFINITY},
    {"uint32", 22, 16, 0, 4000000000u, 4, 4e9},
    {"uint64", 23, 17, 0, 0x8000000000000000u, 8, 0x1p63},
};

enum form { IN_LIST, PACKED, CONTENT };

static void put_number(struct buf *out, size_t i, enum form form, int64_t step)
{
    struct buf rest = BUF_INIT(256), list = BUF_INIT(256);

    if (form == CONTENT) {
        put_bytes(&rest, 4, &numbers[i].bits, numbers[i].size);
    } else if (form == PACKED) {
        if (numbers[i].wire == 0)
            put_varint(&list, numbers[i].bits);
        else
            buf_add(&list, &numbers[i].bits, numbers[i].size);
        put_bytes(&rest, numbers[i].list, list.data, list.len);
    } else if (numbers[i].wire == 0) {
        put_int(&rest, numbers[i].list, numbers[i].bits);
    } else {
        put_key(&rest, numbers[i].list, numbers[i].wire);
        buf_add(&rest, &numbers[i].bits, numbers[i].size);
    }
    put_tensor(out, step, 1e9, numbers[i].tag, step == 1 ? "scalars" : NULL, numbers[i].dtype,
               &rest);
    buf_release(&rest);
    buf_release(&list);
}

static void scalars_of_every_type_and_form(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);

    for (int form = IN_LIST; form <= CONTENT; form++)
        for (size_t i = 0; i < ELEMS(numbers); i++)
            put_number(&file, i, (enum form)form, form + 1);
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    for (size_t i = 0; i < ELEMS(numbers); i++) {
        const struct series *s = series_named(b, ".", numbers[i].tag);

        assert_int_equal(points_named(b, ".", numbers[i].tag), 3);
        for (size_t n = 0; n < 3; n++)
            if (s->points[n].value != numbers[i].value)
                fail_msg("%s, form %zu: %g", numbers[i].tag, n, s->points[n].value);
    }
    board_free(b);
    buf_release(&file);
}

static void what_is_no_scalar_is_told_apart(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES), rest = BUF_INIT(4096), image = BUF_INIT(4096);
    const struct run *r;

    put_bytes(&rest, 8, "a **text**", 10);
    put_tensor(&file, 7, 1e9, "note", "text", 7, &rest);
    put_bytes(&image, 4, "not really an image", 19);
    put_summary(&file, 1, 1e9, "picture", &image);
    buf_clear(&image);
    put_bytes(&image, 5, "nor a histogram", 15);
    put_summary(&file, 1, 1e9, "weights", &image);
    put_tensor(&file, 1, 1e9, "curve", "pr_curves", 1, &rest);
    put_tensor(&file, 1, 1e9, "unsaid", NULL, 1, &rest);
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    r = board_run(b, ".");
    assert_int_equal(run_find(r, "note")->kind, TAG_TEXT);
    assert_int_equal(run_find(r, "note")->samples.at[0].step, 7);
    assert_int_equal(run_find(r, "picture")->kind, TAG_IMAGE);
    assert_int_equal(run_find(r, "weights")->kind, TAG_HISTOGRAM);
    assert_int_equal(run_find(r, "curve")->kind, TAG_TENSOR);
    assert_int_equal(run_find(r, "unsaid")->kind, TAG_UNKNOWN);
    assert_int_equal(points_named(b, ".", "unsaid"), 0);
    board_free(b);
    buf_release(&file);
    buf_release(&rest);
    buf_release(&image);
}

static void put_hparam(struct buf *session, const char *name, const struct buf *value)
{
    struct buf entry = BUF_INIT(4096);

    put_bytes(&entry, 1, name, strlen(name));
    put_bytes(&entry, 2, value->data, value->len);
    put_bytes(session, 1, entry.data, entry.len);
    buf_release(&entry);
}

static void hyperparameters_are_listed(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES), value = BUF_INIT(4096), session = BUF_INIT(4096),
               content = BUF_INIT(4096), fields = BUF_INIT(4096);
    const struct run *r;

    put_double(&value, 2, 0.001);
    put_hparam(&session, "lr", &value);
    buf_clear(&value);
    put_bytes(&value, 3, "adam", 4);
    put_hparam(&session, "optimizer", &value);
    put_bytes(&content, 3, session.data, session.len);
    put_plugin(&fields, "hparams", &content);
    put_summary(&file, 0, 1e9, "_hparams_/session_start_info", &fields);
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    r = board_run(b, ".");
    assert_int_equal(r->hparams_len, 2);
    assert_string_equal(r->hparams[0].name, "lr");
    assert_string_equal(r->hparams[0].value, "0.001");
    assert_string_equal(r->hparams[1].value, "adam");
    board_free(b);
    buf_release(&file);
    buf_release(&value);
    buf_release(&session);
    buf_release(&content);
    buf_release(&fields);
}

/* --- ceilings --------------------------------------------------------------------------- */

static void memory_of_many_tags_is_bounded(void **state)
{
    const struct place *p = *state;
    const struct board_root root = {.base = p->path, .relative = "", .name = ""};
    struct board *b = board_new(&(struct board_options){
        .roots = &root, .roots_len = 1, .capacity = 512, .limit_bytes = 256u << 10});
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);
    char tag[32];

    for (int64_t step = 1; step <= 400; step++)
        for (int i = 0; i < 100; i++) {
            (void)snprintf(tag, sizeof(tag), "tag%d", i);
            put_scalar(&file, step, 1e9, tag, step == 200 ? 5 : 0);
        }
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(tag, sizeof(tag), "tag%d", i);
        assert_in_range(points_named(b, ".", tag), 16, 110);
        assert_true(series_named(b, ".", tag)->max.step == 200);
        assert_int_equal(series_named(b, ".", tag)->last.step, 400);
        assert_true(series_named(b, ".", tag)->room <= 109);
    }
    board_free(b);
    buf_release(&file);
}

static void a_smaller_limit_shrinks_what_is_there(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);
    const struct series *s;
    char tag[32];

    for (int64_t step = 1; step <= 2000; step++)
        for (int i = 0; i < 10; i++) {
            (void)snprintf(tag, sizeof(tag), "tag%d", i);
            put_scalar(&file, step, 1e9, tag, step == 700 ? 5 : 0);
        }
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    assert_int_equal(points_named(b, ".", "tag3"), 2000);
    board_limit(b, 100u << 10);
    assert_true(board_bytes(b) <= 100u << 10);
    s = series_named(b, ".", "tag3");
    assert_in_range(points_named(b, ".", "tag3"), 100, 400);
    assert_true(s->max.step == 700 && s->first.step == 1 && s->last.step == 2000);
    board_free(b);
    buf_release(&file);
}

static void tags_without_end_are_left_out(void **state)
{
    const struct place *p = *state;
    const struct board_root root = {.base = p->path, .relative = "", .name = ""};
    struct board *b = board_new(
        &(struct board_options){.roots = &root, .roots_len = 1, .limit_bytes = 256u << 10});
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);
    struct board_totals totals;
    char tag[600];

    for (int i = 0; i < 8000; i++) {
        (void)snprintf(tag, sizeof(tag), "%0500d", i);
        put_scalar(&file, 1, 1e9, tag, 1);
    }
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    assert_true(board_bytes(b) <= (256u << 10) + 2048);
    assert_in_range(board_run(b, ".")->tags_len, 100, 1000);
    board_totals(b, &totals);
    assert_true(totals.limited);
    board_free(b);
    buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_folders_named_by_their_path, setup, teardown),
        cmocka_unit_test_setup_teardown(links_lead_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fenced_folder_is_never_entered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_folder_is_looked_at_seldom, setup, teardown),
        cmocka_unit_test_setup_teardown(only_plain_files_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restart_supersedes_by_its_session_start, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_session_start_of_the_first_file_is_no_restart,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_written_anew_replaces_what_it_said, setup, teardown),
        cmocka_unit_test_setup_teardown(scalars_of_every_type_and_form, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_scalar_is_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(hyperparameters_are_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_of_many_tags_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_smaller_limit_shrinks_what_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(tags_without_end_are_left_out, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
