# Makes this folder the CANN toolkit of the shell that sources it: `source …/cann-compat/set_env.sh` (bash, zsh; or any shell that
# is in the folder). Builds then find headers and libraries below ASCEND_HOME_PATH, and programs find the libraries when they start.
if [ -n "${BASH_SOURCE:-}" ]; then
  openaclnn_compat=$(CDPATH= cd -- "$(dirname -- "${BASH_SOURCE}")" && pwd)
elif [ -n "${ZSH_VERSION:-}" ]; then
  openaclnn_compat=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
else
  openaclnn_compat=$PWD
fi
if [ -e "$openaclnn_compat/lib64/libascendcl.so" ]; then
  export ASCEND_HOME_PATH=$openaclnn_compat ASCEND_TOOLKIT_HOME=$openaclnn_compat
  # What samples read instead: those of operators, and those of AscendCL.
  export ASCEND_CUSTOM_PATH=$openaclnn_compat DDK_PATH=$openaclnn_compat NPU_HOST_LIB=$openaclnn_compat/lib64
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$openaclnn_compat/lib64:"*) ;;
    *) export LD_LIBRARY_PATH=$openaclnn_compat/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ;;
  esac
else
  echo "set_env.sh: $openaclnn_compat/lib64/libascendcl.so was not found; in this shell, cd to the folder of set_env.sh first" >&2
  unset openaclnn_compat
  return 1
fi
unset openaclnn_compat
