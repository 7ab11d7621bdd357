// SPDX-License-Identifier: Apache-2.0
// The C header is read by C++ as well, initialisers included.
#include <halocline/halocline.h>

int main() {
  halocline_grid_options grid = HALOCLINE_GRID_OPTIONS;
  halocline_grid_info grid_info = HALOCLINE_GRID_INFO;
  halocline_field_options field = HALOCLINE_FIELD_OPTIONS;
  halocline_field_info field_info = HALOCLINE_FIELD_INFO;
  halocline_exchange_options exchange = HALOCLINE_EXCHANGE_OPTIONS;
  halocline_exchange_info exchange_info = HALOCLINE_EXCHANGE_INFO;
  halocline_device_info device = HALOCLINE_DEVICE_INFO;
  halocline_report_options report = HALOCLINE_REPORT_OPTIONS;
  const bool sized = grid.struct_size == sizeof grid && grid_info.struct_size == sizeof grid_info &&
                     field.struct_size == sizeof field &&
                     field_info.struct_size == sizeof field_info &&
                     exchange.struct_size == sizeof exchange &&
                     exchange_info.struct_size == sizeof exchange_info &&
                     device.struct_size == sizeof device && report.struct_size == sizeof report;
  return sized && halocline_version()[0] != '\0' ? 0 : 1;
}
