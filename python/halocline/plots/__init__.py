# SPDX-License-Identifier: Apache-2.0
"""Pictures of fields and of reports, by matplotlib: `result.plot()`, `report.plot()`, `halocline plot FILE...`."""
