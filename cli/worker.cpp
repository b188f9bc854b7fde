#include "cli/worker.h"

#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/console.h"
#include "halfstep/engines/qnn/worker.h"
#include "halfstep/support/error.h"

namespace halfstep::cli {
namespace {

bool is_socket(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

int run_worker(const std::vector<std::string>& arguments) {
  if (arguments != std::vector<std::string>{"qnn"} || !is_socket(STDIN_FILENO)) {
    std::cerr << "halfstep: '_worker' is started by halfstep itself\n";
    return exit_code(ErrorKind::invalid_argument);
  }
  // The libraries print to standard output and may read standard input: neither is the socket.
  const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (socket < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) {
    std::cerr << "halfstep: the worker cannot set up its descriptors\n";
    return exit_code(ErrorKind::io);
  }
  close(nothing);
  return qnn::run_worker(socket);
}

}  // namespace halfstep::cli
