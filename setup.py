"""pip install --no-build-isolation . builds the package with CMake for the torch that is installed."""

import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).parent


def required_torch():
    try:
        import torch
    except ImportError:
        sys.exit("curnm is built for the torch that is installed, and none is visible here: install "
                 "torch >= 1.13, then: pip install --no-build-isolation .")
    if tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) < (1, 13):
        sys.exit(f"curnm needs torch >= 1.13, and this is {torch.__version__}")
    if not torch.compiled_with_cxx11_abi():
        # fmt and simdjson of the system have the other strings.
        sys.exit("this torch was built with the strings of before C++11, and the libraries of the "
                 "system were not: install a torch with the C++11 ABI (2.6 or newer, or Debian's)")
    return torch


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        torch = required_torch()
        for program in ("cmake", "ninja", "c++"):
            if shutil.which(program) is None:
                sys.exit(f"{program} is missing: packages.txt lists what is needed to build")
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parents[1]
        build = pathlib.Path(self.build_temp).resolve()
        configured = subprocess.run([
            "cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
            "-DBUILD_TESTING=OFF", "-DCURNM_WERROR=OFF", "-DCURNM_PYTHON=ON", "-DCURNM_PYTHON_DIR=.",
            f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}",
            f"-DPython_EXECUTABLE={sys.executable}"])
        if configured.returncode != 0:
            sys.exit("CMake misses something (its message is above): packages.txt lists the Debian "
                     "packages that curnm is built with; the module needs pybind11-dev and "
                     "python3-dev besides")
        subprocess.check_call(["cmake", "--build", build, "--target", "curnm_python"])
        subprocess.check_call(["cmake", "--install", build, "--component", "python3-curnm",
                               "--prefix", target])
        shutil.rmtree(target / "share")  # what a Debian package has besides


setup(
    version=re.search(r"project\(curnm VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1],
    ext_modules=[Extension("curnm._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
