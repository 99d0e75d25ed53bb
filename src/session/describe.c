// SPDX-License-Identifier: MIT
#include "session/describe.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

void hp_describe_start(struct hp_run_about *about, char *const *argv, enum hp_arch arch,
                       const char *engine)
{
    struct utsname host;
    if (uname(&host) == 0)
        snprintf(about->machine, sizeof about->machine, "%s %s %s, %ld processors", host.sysname,
                 host.release, host.machine, sysconf(_SC_NPROCESSORS_ONLN));
    else
        about->machine[0] = 0;
    if (!getcwd(about->directory, sizeof about->directory))
        about->directory[0] = 0;
    about->run = (struct hp_trace_run){.version = HP_VERSION,
                                       .engine = engine,
                                       .arch = arch,
                                       .command = argv,
                                       .directory = about->directory,
                                       .machine = about->machine,
                                       .started = (int64_t)time(NULL)};
}

enum hp_err hp_describe_profile(struct hp_profile *profile, const struct hp_trace_run *run)
{
    profile->run.version = hp_profile_string(profile, run->version);
    profile->run.engine = hp_profile_string(profile, run->engine);
    profile->run.directory = hp_profile_string(profile, run->directory);
    profile->run.machine = hp_profile_string(profile, run->machine);
    profile->run.arch = run->arch;
    profile->run.started = run->started;
    profile->run.seconds = run->seconds;
    profile->run.exit_status = run->exit_status;
    if (!profile->run.version || !profile->run.engine || !profile->run.directory ||
        !profile->run.machine)
        return hp_fail_nomem();
    return hp_profile_set_command(profile, run->command);
}
