// Uses halfstep::core of an installation.
#include <cstdio>

#include "halfstep/core/dtype.h"
#include "halfstep/version.h"

int main() {
  std::printf("halfstep %s: int4 has %d bits\n", halfstep::kVersion.data(),
              halfstep::bits(halfstep::parse_dtype("int4")));
  return halfstep::bits(halfstep::Dtype::int4) == 4 ? 0 : 1;
}
