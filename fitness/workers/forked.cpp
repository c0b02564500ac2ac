// Confines a fork of a process that has already loaded what takes long, where a program could not be started anew.
//
// The zygote (zygote.py) forks and calls `kw_enter` in the fork, which only comes back in the process that is confined:
// with an init of its own, the limits, filters and rights of the runner, and (bubblewrap's zygote) namespaces of its own.
// The zygote has met no candidate; no candidate can see it: another process namespace, or Landlock, lies between.
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "init.hpp"

using namespace kernelwright;

[[noreturn]] static void give_up(const char* what) {
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
    _exit(121);
}

static void write_file(const char* path, const char* text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) give_up(path);
    close(fd);
}

// Leaves all namespaces but the one of processes, which only children leave.
static void leave_namespaces() {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // else its own entry in /proc would not be its own
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
        give_up("unshare");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", users);
    write_file("/proc/self/gid_map", groups);
}

static void cover(const char* path, const char* kind, unsigned long flags, const char* data) {
    if (mount(kind, path, kind, flags | MS_NOSUID | MS_NODEV, data) != 0) give_up(path);
}

// What bubblewrap has mounted for the zygote stays, read-only; what is shared with other forks is covered.
static void mount_own(const char* scratches, const char* scratch) {
    struct stat shared;
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) give_up("mount");
    if (mount(scratch, "/scratch", nullptr, MS_BIND, nullptr) != 0) give_up(scratch);
    cover(scratches, "tmpfs", MS_RDONLY, "size=4k");
    if (stat("/dev/shm", &shared) == 0) cover("/dev/shm", "tmpfs", 0, "mode=1777");
    cover("/proc", "proc", MS_NOEXEC, nullptr);
}

static void drop_capabilities() {
    for (int each = 0; prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each) prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (syscall(SYS_capset, &header, none) != 0) give_up("capset");
}

static void confine(char** argv, const std::vector<int>& kept) {
    become_child();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // a driver names its own threads in /proc
    apply_limits(argv);
    close_descriptors(kept);
    if (chdir(option(argv, "folder", "/")) != 0) give_up("chdir");
    if (number(argv, "landlock", 0) && !restrict_files(all(argv, "read"), all(argv, "write"))) give_up("landlock");
    if (number(argv, "seccomp", 1) && !confine_build(number(argv, "local_sockets", 0) != 0)) give_up("seccomp");
}

// Comes back in the confined process only, with the descriptors `receive`, `send` and the three standard ones.
extern "C" void kw_enter(char** argv, int init, int receive, int send) {
    const char* scratch = option(argv, "scratch", nullptr);
    if (scratch) leave_namespaces();
    const pid_t first = fork();
    if (first < 0) give_up("fork");
    if (first > 0) _exit(0);  // the zygote has no child to wait for; its own init, or itself, reaps the orphan
    setsid();
    if (scratch) mount_own(option(argv, "scratches", "/scratches"), scratch);
    if (scratch) drop_capabilities();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const int signals = watched_signals();
    say(init, HELLO, 0, 0);
    const pid_t pid = fork();
    if (pid == 0) return confine(argv, {receive, send});
    close_descriptors({init, signals});
    watch(init, signals, pid);
    _exit(0);
}
