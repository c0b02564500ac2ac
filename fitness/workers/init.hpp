// The first process of a sandbox: it starts the one that is confined, reaps, tells how that one ended, and leaves
// nobody behind. Used by the runner, which is a program, and by forks of a zygote, which are none.
#pragma once
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "confine.hpp"
#include "protocol.hpp"

namespace kernelwright {

// ---- settings: key=value, up to "--" or the end --------------------------------------------------------

inline const char* option(char** argv, const char* key, const char* missing) {
    size_t length = strlen(key);
    for (char** each = argv + 1; *each && strcmp(*each, "--") != 0; ++each)
        if (strncmp(*each, key, length) == 0 && (*each)[length] == '=') return *each + length + 1;
    return missing;
}

inline long number(char** argv, const char* key, long missing) {
    const char* text = option(argv, key, nullptr);
    return text ? strtol(text, nullptr, 10) : missing;
}

inline std::vector<const char*> all(char** argv, const char* key) {
    std::vector<const char*> found;
    size_t length = strlen(key);
    for (char** each = argv + 1; *each && strcmp(*each, "--") != 0; ++each)
        if (strncmp(*each, key, length) == 0 && (*each)[length] == '=') found.push_back(*each + length + 1);
    return found;
}

inline void say(int fd, uint32_t kind, uint32_t sequence, uint64_t value, uint64_t extra = 0, const char* text = "") {
    Message message{kind, sequence, value, extra, {}};
    strncpy(message.text, text, sizeof message.text - 1);
    send(fd, &message, sizeof message, MSG_NOSIGNAL);
}

// ---- limits -------------------------------------------------------------------------------------------

inline void apply_limits(char** argv) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, static_cast<uint64_t>(number(argv, "cpu_s", 60)));
    limit(RLIMIT_FSIZE, static_cast<uint64_t>(number(argv, "file_bytes", 65536)));
    limit(RLIMIT_NOFILE, static_cast<uint64_t>(number(argv, "descriptors", 64)));
    limit(RLIMIT_NPROC, static_cast<uint64_t>(number(argv, "processes", 512)));
    if (long bytes = number(argv, "memory_bytes", 0)) limit(RLIMIT_AS, static_cast<uint64_t>(bytes));
}

// ---- init ---------------------------------------------------------------------------------------------

// Kills every process that has become ours; orphans of killed ones become ours next. Ends when none is left.
inline void kill_descendants() {
    for (;;) {
        DIR* folder = opendir("/proc");
        if (folder) {
            while (dirent* entry = readdir(folder)) {
                char path[64], text[256];
                int pid = atoi(entry->d_name), parent = 0;
                if (pid <= 0) continue;
                snprintf(path, sizeof path, "/proc/%d/stat", pid);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0) continue;
                ssize_t length = read(fd, text, sizeof text - 1);
                close(fd);
                text[length > 0 ? length : 0] = 0;
                const char* after = strrchr(text, ')');
                if (after && sscanf(after + 1, " %*c %d", &parent) == 1 && parent == getpid()) kill(pid, SIGKILL);
            }
            closedir(folder);
        }
        pid_t gone;
        while ((gone = waitpid(-1, nullptr, WNOHANG)) > 0) {
        }
        if (gone < 0 && errno == ECHILD) return;
        usleep(500);
    }
}

// Blocks the signals that `watch` wants to read; returns where they can be read.
inline int watched_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    return signalfd(-1, &watched, SFD_CLOEXEC);
}

// Undoes what init has set for itself; called in the child, before it confines itself.
inline void become_child() {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

// Waits until `pid` has ended or the driver wants it gone; then nobody of the sandbox is left.
inline void watch(int init, int signals, pid_t pid) {
    int status = 0;
    rusage used{};
    for (bool running = pid > 0; running;) {
        pollfd polled[2] = {{init, POLLIN, 0}, {signals, POLLIN, 0}};
        poll(polled, 2, -1);
        if (polled[0].revents) break;  // the driver hung up, or wants us gone
        signalfd_siginfo info;
        const bool is_told = read(signals, &info, sizeof info) == sizeof info && info.ssi_signo != SIGCHLD;
        if (is_told && (getpid() != 1 || info.ssi_pid == 0)) break;  // whoever has a number here is inside
        pid_t gone;
        while ((gone = wait4(-1, &status, WNOHANG, &used)) > 0 && gone != pid) {
        }
        if (gone == pid) {
            uint64_t cpu_us = static_cast<uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
                              static_cast<uint64_t>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
            if (getpid() != 1) kill_descendants();
            say(init, ENDED, 0, static_cast<uint64_t>(status), cpu_us);
            running = false;
        }
    }
    if (getpid() != 1) kill_descendants();
}

}  // namespace kernelwright
