// Limits that a sandboxed process puts on itself before it runs anything that is not trusted.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace kernelwright {

inline void limit(int what, uint64_t value) {
    rlimit both{value, value};
    setrlimit(what, &both);
}

// Closes every descriptor above standard error that is not in `kept`.
inline void close_descriptors(const std::vector<int>& kept) {
    for (int fd = 3; fd < 1024; ++fd) {
        bool keep = false;
        for (int each : kept) keep = keep || each == fd;
        if (!keep) close(fd);
    }
}

// ---- seccomp ------------------------------------------------------------------------------------------

#if defined(__x86_64__)
constexpr uint32_t THIS_ARCH = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t THIS_ARCH = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t THIS_ARCH = 0;  // no filter is written for this machine; the caller reports it as missing
#endif

class Filter {
  public:
    Filter() {
        load(offsetof(seccomp_data, arch));
        jump(BPF_JEQ, THIS_ARCH, 1, 0);
        give(SECCOMP_RET_KILL_PROCESS);
        load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
        jump(BPF_JGE, 0x40000000u, 0, 1);  // the x32 numbers would pass by every rule below
        give(SECCOMP_RET_ERRNO | EPERM);
#endif
    }
    void answer(int number, uint32_t action) {
        jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1);
        give(action);
    }
    // Gives `action` where (argument `index` & mask) == value, else refuses.
    void answer_if(int number, int index, uint32_t mask, uint32_t value, uint32_t action) {
        jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 5);
        load(offsetof(seccomp_data, args) + 8u * static_cast<unsigned>(index));
        code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
        jump(BPF_JEQ, value, 0, 1);
        give(action);
        give(SECCOMP_RET_ERRNO | EPERM);
    }
    bool install(uint32_t otherwise) {
        give(otherwise);
        if (THIS_ARCH == 0) return false;
        sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    }

  private:
    void load(size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
    void give(uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
    void jump(int test, uint32_t value, uint8_t yes, uint8_t no) {
        code_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, yes, no));
    }
    std::vector<sock_filter> code_;
};

// What a kernel may ask of the system: memory, threads, clocks, and the descriptors that it has. Everything
// else fails with EPERM. No processes, no sockets, no signals to others, no change of where or how it is scheduled.
inline bool confine_kernel() {
    static const int allowed[] = {
#ifdef __NR_arch_prctl
        __NR_arch_prctl,
#endif
#ifdef __NR_poll
        __NR_poll, __NR_select, __NR_epoll_wait, __NR_readlink, __NR_access, __NR_open, __NR_stat, __NR_lstat,
        __NR_time, __NR_getpgrp, __NR_pause, __NR_alarm, __NR_epoll_create, __NR_pipe, __NR_dup2, __NR_eventfd,
#endif
        __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_brk, __NR_madvise, __NR_msync, __NR_mincore,
        __NR_futex, __NR_set_robust_list, __NR_get_robust_list, __NR_set_tid_address, __NR_membarrier,
#ifdef __NR_rseq
        __NR_rseq,
#endif
#ifdef __NR_newfstatat
        __NR_newfstatat,
#endif
        __NR_fstat, __NR_openat, __NR_readlinkat, __NR_faccessat, __NR_lseek, __NR_close, __NR_read, __NR_write,
        __NR_readv, __NR_writev, __NR_pread64, __NR_pwrite64, __NR_getcwd, __NR_getdents64, __NR_dup, __NR_dup3,
        __NR_fcntl, __NR_ppoll, __NR_pselect6, __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_pwait, __NR_eventfd2,
        __NR_pipe2, __NR_recvmsg, __NR_sendmsg, __NR_recvfrom, __NR_sendto, __NR_statx,
        __NR_exit, __NR_exit_group, __NR_restart_syscall, __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn,
        __NR_rt_sigpending, __NR_rt_sigsuspend, __NR_rt_sigtimedwait, __NR_sigaltstack,
        __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_nanosleep, __NR_gettimeofday, __NR_times,
        __NR_timer_create, __NR_timer_settime, __NR_timer_gettime, __NR_timer_delete, __NR_setitimer, __NR_getitimer,
        __NR_sched_yield, __NR_sched_getaffinity, __NR_sched_getparam, __NR_sched_getscheduler,
        __NR_sched_get_priority_max, __NR_sched_get_priority_min, __NR_getcpu, __NR_getrusage, __NR_getrandom,
        __NR_getpid, __NR_getppid, __NR_gettid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_uname,
        __NR_sysinfo,
    };
    const uint32_t yes = SECCOMP_RET_ALLOW;
    const uint32_t self = static_cast<uint32_t>(getpid());
    Filter filter;
    for (int number : allowed) filter.answer(number, yes);
#ifdef __NR_clone3
    filter.answer(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);  // its flags cannot be read here; libc falls back to clone
#endif
    filter.answer_if(__NR_clone, 0, 0x00010000u, 0x00010000u, yes);  // CLONE_THREAD
    filter.answer_if(__NR_tgkill, 0, 0xffffffffu, self, yes);
    filter.answer_if(__NR_kill, 0, ~self, 0, yes);  // itself or, with 0, its own group
    filter.answer_if(__NR_prlimit64, 0, 0xffffffffu, 0, yes);
    filter.answer_if(__NR_prctl, 0, 0xffffffffu, PR_SET_NAME, yes);
    filter.answer(__NR_ioctl, SECCOMP_RET_ERRNO | ENOTTY);
    return filter.install(SECCOMP_RET_ERRNO | EPERM);
}

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: in a user namespace of its own, a process has all
// capabilities, and with them much of the kernel to attack. (CLONE_NEWTIME shares its bit with the exit signal.)
constexpr uint32_t NEW_NAMESPACES = 0x7e020000u;

// A compiler may start processes and write files, but not reach the network, other processes or the kernel's inside.
// A GPU driver talks to itself through local sockets: `local_sockets` allows those and no others.
inline bool confine_build(bool local_sockets) {
    static const int refused[] = {
        __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_perf_event_open,
        __NR_bpf, __NR_keyctl, __NR_add_key, __NR_request_key, __NR_unshare, __NR_setns, __NR_mount, __NR_umount2,
        __NR_pivot_root, __NR_chroot, __NR_shmget, __NR_msgget, __NR_semget, __NR_mq_open, __NR_userfaultfd,
        __NR_io_setup, __NR_init_module, __NR_finit_module, __NR_kexec_load,
#ifdef __NR_io_uring_setup
        __NR_io_uring_setup,
#endif
#ifdef __NR_pidfd_getfd
        __NR_pidfd_getfd,
#endif
        // Mounts without mount(2), by number as headers may be older: open_tree, move_mount, fsopen, fsconfig,
        // fsmount, fspick, mount_setattr, open_tree_attr. The same everywhere since Linux 5.2.
        428, 429, 430, 431, 432, 433, 442, 467,
    };
    const uint32_t no = SECCOMP_RET_ERRNO | EPERM;
    Filter filter;
    for (int number : refused) filter.answer(number, no);
#ifdef __NR_clone3
    filter.answer(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);  // its flags cannot be read here; libc falls back to clone
#endif
    filter.answer_if(__NR_clone, 0, NEW_NAMESPACES, 0, SECCOMP_RET_ALLOW);
    filter.answer_if(__NR_mknodat, 2, S_IFMT, S_IFIFO, SECCOMP_RET_ALLOW);  // a profiler makes pipes with names
#ifdef __NR_mknod
    filter.answer_if(__NR_mknod, 1, S_IFMT, S_IFIFO, SECCOMP_RET_ALLOW);
#endif
    if (local_sockets) {
        filter.answer_if(__NR_socket, 0, 0xffffffffu, AF_UNIX, SECCOMP_RET_ALLOW);
    } else {
        filter.answer(__NR_socket, no);
        filter.answer(__NR_socketpair, no);
    }
    return filter.install(SECCOMP_RET_ALLOW);
}

// ---- Landlock -----------------------------------------------------------------------------------------

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

constexpr uint64_t LANDLOCK_READ = 1u | 4u | 8u;     // execute, read a file, list a folder
constexpr uint64_t LANDLOCK_ALL = (1u << 13) - 1;    // every right of the first version
constexpr uint64_t LANDLOCK_REFER = 1u << 13;        // of the second: moving a file to another folder

constexpr uint64_t LANDLOCK_SCOPE = 1u | 2u;         // of the sixth: no signals and no abstract sockets to others

inline void allow_path(int ruleset, const char* path, uint64_t rights) {
    struct __attribute__((packed)) {
        uint64_t rights;
        int32_t parent;
    } rule{rights, open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent < 0) return;
    DIR* folder = opendir(path);
    if (folder) closedir(folder);
    else rule.rights &= 1u | 2u | 4u;  // only these may be given on a file
    syscall(__NR_landlock_add_rule, ruleset, 1, &rule, 0);
    close(rule.parent);
}

// Leaves only `readable` paths for reading and `writable` ones for everything. False where the kernel has no Landlock.
inline bool restrict_files(const std::vector<const char*>& readable, const std::vector<const char*>& writable) {
    const long version = syscall(__NR_landlock_create_ruleset, nullptr, 0, 1);
    const uint64_t handled = LANDLOCK_ALL | (version >= 2 ? LANDLOCK_REFER : 0);
    const uint64_t rules[3] = {handled, 0, version >= 6 ? LANDLOCK_SCOPE : 0};  // files, network, scope
    const size_t size = (version >= 6 ? 3 : 1) * sizeof *rules;
    int ruleset = static_cast<int>(syscall(__NR_landlock_create_ruleset, rules, size, 0));
    if (ruleset < 0) return false;
    for (const char* path : readable) allow_path(ruleset, path, LANDLOCK_READ);
    for (const char* path : writable) allow_path(ruleset, path, handled);
    bool done = syscall(__NR_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return done;
}

}  // namespace kernelwright
